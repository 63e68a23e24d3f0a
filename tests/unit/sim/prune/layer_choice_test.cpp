// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of a checkpoint are pruned, and along which axis; what stays, byte for byte.
#include "sim/prune/layer_choice.h"

#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/prune/legality.h"
#include "sim/prune/prune_model.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::prune {
namespace {

using Shape = std::vector<std::int64_t>;

/// Bytes that differ, of floats that are finite.
io::Tensor tensor(const std::string& name, const std::string& dtype, const Shape& shape) {
  io::Tensor result{name, dtype, shape, {}};
  const io::ElementType* const type = io::find_element_type(dtype);
  const std::size_t element_bytes = type == nullptr ? 1 : static_cast<std::size_t>(type->bytes);
  const auto elements = std::accumulate(
      shape.begin(), shape.end(), std::size_t{1},
      [](std::size_t product, std::int64_t extent) { return product * static_cast<std::size_t>(extent); });
  for (std::size_t i = 0; i < elements * element_bytes; ++i) {
    const bool exponent = element_bytes > 1 && i % element_bytes == element_bytes - 1;
    result.bytes.push_back(static_cast<std::byte>(exponent ? 0x3C : 1 + i * 7 % 113));
  }
  return result;
}
io::Tensor f16(const std::string& name, const Shape& shape) {
  return tensor(name, "F16", shape);
}
io::Tensor integers(const std::string& name, const std::vector<std::int64_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {name, "I64", {static_cast<std::int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
}

/// "name type extents ..", where the type is "=" of integers that the extents are themselves.
std::vector<io::Tensor> tensors_of(const std::string& text) {
  std::vector<io::Tensor> tensors;
  std::istringstream words(text);
  for (std::string name, type, extents; words >> name >> type >> extents;) {
    Shape shape;
    std::istringstream numbers(extents);
    for (std::string number; std::getline(numbers, number, 'x');) {
      shape.push_back(std::stoll(number));
    }
    tensors.push_back(type == "=" ? integers(name, shape) : tensor(name, type, shape));
  }
  return tensors;
}

class LayerChoices : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  std::filesystem::path path(const std::string& name) const { return temporary.path() / name; }
  std::filesystem::path model(const std::vector<io::Tensor>& tensors) const {
    io::write_safetensors(path("m.safetensors"), tensors);
    return path("m.safetensors");
  }
  LayerChoice choice(const std::vector<io::Tensor>& tensors, const PruneOptions& options = {}) const {
    return find_layers(*ModelFile::open(model(tensors)), options);
  }
  /// The bytes of the tensors of `file` that differ from `before`, by name.
  static std::vector<std::string> changed(const std::filesystem::path& file, const std::vector<io::Tensor>& before) {
    std::vector<std::string> names;
    const io::TensorFile after = io::TensorFile::open(file);
    for (const io::Tensor& one : before) {
      if (after.tensor(one.name).bytes != one.bytes || after.tensor(one.name).dtype != one.dtype) {
        names.push_back(one.name);
      }
    }
    return names;
  }
};

TEST_F(LayerChoices, PackedWeightsOfAnyFormatStayAsTheyAre) {
  const struct {
    std::string tensors, name, reason;
    std::int64_t rows, k;
  } rows[] = {
      {"a.weight.compressed F16 8x16 a.weight.bitmask U8 8x4 a.weight.shape = 8x32", "a.weight",
       "2:4 already, as sparse-24-bitmask", 8, 32},
      {"a.weight.compressed F16 100 a.weight.bitmask U8 8x4 a.weight.row_offsets = 0x9 "
       "a.weight.shape = 8x32",
       "a.weight", "packed as sparse-bitmask, which is not pruned here", 8, 32},
      {"a.weight_packed I32 8x4 a.weight_scale F16 8x4 a.weight_shape = 8x32", "a",
       "packed as pack-quantized, which is not pruned here", 8, 32},
      {"a.weight_packed I32 8x4 a.scale_packed F16 4x8 a.meta I16 8x4", "a", "2:4 already, as marlin-24", 0, 0},
      {"a.qweight I32 4x8 a.qzeros I32 1x4 a.scales F16 4x8 a.g_idx I32 32", "a",
       "packed as GPTQ, which is not pruned here", 8, 32},
      {"a.qweight I32 32x4 a.qzeros I32 4x4 a.scales F16 4x32", "a", "packed as AWQ, which is not pruned here", 32, 32},
      {"a.weight_packed U8 8x16 a.weight_scale F8_E4M3 8x4 a.weight_global_scale F32 1", "a",
       "packed as nvfp4-pack-quantized, which is not pruned here", 8, 32},
      {"a.weight U8 128x1 a.weight.absmax U8 4 a.weight.quant_map F32 16 a.weight.nested_absmax "
       "F16 4x4",
       "a", "packed as bitsandbytes, which is not pruned here", 0, 0},
      {"a.packed F16 8x16 a.meta I16 8x4", "a", "2:4 already, as SparseSemiStructuredTensor", 8, 32},
      {"a.values F16 8x16 a.metadata U16 8x2", "a", "2:4 already, as values and metadata of sptcsim", 8, 32},
      {"e.gate_up_proj_blocks U8 2x8x4x8 e.gate_up_proj_scales U8 2x8x4 e.gate_up_proj_bias F16 "
       "2x8",
       "e.gate_up_proj", "packed as MXFP4 blocks, which is not pruned here", 8, 64},
  };
  for (const auto& row : rows) {
    std::vector<io::Tensor> tensors = tensors_of(row.tensors);
    const LayerChoice alone = choice(tensors);
    ASSERT_EQ(alone.layers.size(), 1U) << row.reason;
    EXPECT_EQ(alone.layers[0].name, row.name) << row.reason;
    EXPECT_EQ(alone.layers[0].skipped, row.reason);
    EXPECT_EQ(alone.layers[0].layout.rows, row.rows) << row.reason;
    EXPECT_EQ(alone.layers[0].layout.k, row.k) << row.reason;
    support::expect_input_error([&] { prune_model(model(tensors), path("o.safetensors"), {}, {}); },
                                {"can be pruned to 2:4: '" + row.name + "': " + row.reason});
    tensors.push_back(f16("w", {8, 16}));
    prune_model(model(tensors), path("o.safetensors"), {}, {});
    EXPECT_EQ(changed(path("o.safetensors"), tensors), std::vector<std::string>{"w"}) << row.reason;
    PruneOptions asked;
    asked.layers = tensors[0].name;
    support::expect_input_error([&] { choice(tensors, asked); }, {"cannot be pruned", row.reason});
  }
}

TEST_F(LayerChoices, WeightsThatAreSparseAlreadyAreLegalInTheirTrueShape) {
  const std::vector<ProductShape> shapes = shapes_of_model(
      model({f16("a.compressed", {128, 128}), tensor("a.bitmask", "U8", {128, 32}), integers("a.shape", {128, 256})}),
      numerics::DataType::kF16);
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes[0].m, 128);
  EXPECT_EQ(shapes[0].k, 256);
  EXPECT_NE(legality_text(shapes, mma::find_target("sm_80")).find("2:4 already, as sparse-24-bitmask"),
            std::string::npos);
}

TEST_F(LayerChoices, QuantisedWeightsAreLegalInTheirTrueShapeAndTheTypeOfTheirCodes) {
  const struct {
    std::string tensors;
    std::int64_t m, k;
    numerics::DataType type;
  } rows[] = {
      {"a.weight_packed I32 8x4 a.weight_scale F16 8x4 a.weight_shape = 8x32", 8, 32, numerics::DataType::kS4},
      {"a.weight_packed I32 8x8 a.weight_scale F16 8x4 a.weight_shape = 8x32", 8, 32, numerics::DataType::kS8},
      {"a.weight_packed I32 4x128 a.scale_packed F16 1x64 a.meta I16 4x64", 64, 128, numerics::DataType::kS4},
      {"a.weight_packed U8 8x16 a.weight_scale F8_E4M3 8x2 a.weight_global_scale F32 1", 8, 32,
       numerics::DataType::kE2m1},
  };
  for (const auto& row : rows) {
    const std::vector<ProductShape> shapes = shapes_of_model(model(tensors_of(row.tensors)), std::nullopt);
    ASSERT_EQ(shapes.size(), 1U) << row.tensors;
    EXPECT_EQ(shapes[0].m, row.m) << row.tensors;
    EXPECT_EQ(shapes[0].k, row.k) << row.tensors;
    EXPECT_EQ(shapes[0].type, row.type) << row.tensors;
  }
}

TEST_F(LayerChoices, WeightsOfOneTensorWithAScaleBesideItArePrunedAsStored) {
  const std::vector<io::Tensor> tensors{tensor("a.weight", "F8_E4M3", {8, 16}),
                                        tensor("a.weight_scale_inv", "F32", {2, 4}),
                                        tensor("a.input_scale", "F32", {})};
  const PruneReport report = prune_model(model(tensors), path("o.safetensors"), {}, {});
  EXPECT_EQ(report.pruned_layers(), 1);
  EXPECT_EQ(report.layers[0].dtype, "e4m3");
  EXPECT_EQ(changed(path("o.safetensors"), tensors), std::vector<std::string>{"a.weight"});
  EXPECT_EQ(report.notes, std::vector<std::string>{"'a.weight_scale_inv': left, by the name a scale"});
}

TEST_F(LayerChoices, IntegersWithAZeroPointAreNot) {
  std::vector<io::Tensor> tensors{tensor("a.weight", "I8", {8, 16}), tensor("a.weight_zero_point", "I8", {8, 1})};
  EXPECT_EQ(choice(tensors).layers.at(0).skipped, "its zero point is not 0, so that zeros would be other values");
  tensors[1].bytes.assign(tensors[1].bytes.size(), std::byte{0});
  EXPECT_EQ(choice(tensors).layers.at(0).skipped, "");
}

TEST_F(LayerChoices, HeadsRoutersEmbeddingsAndStatesHaveALineEachAndAreIncluded) {
  const std::vector<io::Tensor> tensors{f16("lm_head.weight", {8, 16}), f16("model.embed_tokens.weight", {8, 16}),
                                        f16("layers.0.mlp.gate.weight", {8, 16}),
                                        f16("layers.0.mlp.gate_proj.weight", {8, 16}),
                                        f16("layers.0.mixer.A_log", {8, 16})};
  const PruneReport report = prune_model(model(tensors), path("o.safetensors"), {}, {});
  const std::string text = prune_text(report);
  EXPECT_EQ(report.pruned_layers(), 1);
  EXPECT_EQ(changed(path("o.safetensors"), tensors), std::vector<std::string>{"layers.0.mlp.gate_proj.weight"});
  for (const std::string role : {"head", "embedding", "router", "state matrix"}) {
    EXPECT_NE(text.find("left as it is: " + role + " by its name (--include prunes it)"), std::string::npos) << text;
  }
  PruneOptions options;
  options.include = "lm_head|gate";
  EXPECT_EQ(prune_model(model(tensors), {}, {}, options).pruned_layers(), 3);
}

/// Whether each group of four neighbours along `axis` of a [experts, a, b] has two zeros.
bool is_two_of_four(const io::Tensor& weights, std::size_t axis) {
  const auto values = io::as_doubles(weights);
  const auto a = static_cast<std::size_t>(weights.shape[1]);
  const auto b = static_cast<std::size_t>(weights.shape[2]);
  const std::size_t step = axis == 2 ? 1 : b;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t along = axis == 2 ? i % b : i / b % a;
    int zeros = 0;
    for (std::size_t j = 0; along % 4 == 0 && j < 4; ++j) {
      zeros += values[i + j * step] == 0 ? 1 : 0;
    }
    if (along % 4 == 0 && zeros != 2) {
      return false;
    }
  }
  return true;
}

TEST_F(LayerChoices, ExpertsArePrunedAlongKInBothOrders) {
  const struct {
    Shape reading, making;
    std::size_t axis;
  } orders[] = {{{2, 16, 32}, {2, 32, 8}, 2}, {{2, 32, 16}, {2, 8, 32}, 1}};
  for (const auto& order : orders) {
    std::vector<io::Tensor> tensors{f16("mlp.experts.gate_up_proj", order.reading),
                                    f16("mlp.experts.down_proj", order.making)};
    const PruneReport report = prune_model(model(tensors), path("o.safetensors"), {}, {});
    const io::TensorFile after = io::TensorFile::open(path("o.safetensors"));
    for (const io::Tensor& one : tensors) {
      EXPECT_TRUE(is_two_of_four(after.tensor(one.name), order.axis)) << one.name;
      EXPECT_FALSE(is_two_of_four(after.tensor(one.name), 3 - order.axis)) << one.name;
    }
    EXPECT_EQ(report.layers[0].rows, 2 * order.reading[3 - order.axis]);
    EXPECT_EQ(report.layers[0].k, order.reading[order.axis]);
    ASSERT_EQ(report.notes.size(), 2U);
    EXPECT_NE(prune_text(report).find("weights of experts, k is " +
                                      std::string(order.axis == 2 ? "the last axis" : "axis 1") +
                                      ": 'down_proj' beside it fits that"),
              std::string::npos);
    const auto shapes = shapes_of_model(model(tensors), numerics::DataType::kF16);
    EXPECT_EQ(shapes[0].m, order.reading[3 - order.axis]);
    EXPECT_EQ(shapes[0].k, order.reading[order.axis]);
  }
}

TEST_F(LayerChoices, HiddenFeaturesAndConfigurationsTellTheAxisOfExperts) {
  const auto axis = [&](const std::vector<io::Tensor>& tensors) {
    const LayerChoice found = choice(tensors);
    for (const ChosenLayer& layer : found.layers) {
      if (layer.layout.stacked) {
        return layer.layout.k_axis;
      }
    }
    return std::size_t{0};
  };
  EXPECT_EQ(axis({f16("experts.w1", {2, 16, 32}), f16("gate.weight", {2, 32})}), 2U);
  EXPECT_EQ(axis({f16("experts.w1", {2, 16, 32}), f16("gate.weight", {2, 16})}), 1U);
  EXPECT_EQ(axis({f16("experts.w2", {2, 16, 32}), f16("embed_tokens.weight", {64, 16})}), 2U);
  EXPECT_EQ(axis({f16("experts.w2", {2, 16, 32}), f16("norm.weight", {32})}), 1U);
  const std::vector<io::Tensor> square{f16("experts.gate_up_proj", {2, 16, 16})};
  EXPECT_EQ(axis(square), 2U);
  EXPECT_NE(choice(square).notes.at(0).find("an assumption"), std::string::npos);
  std::ofstream(path("config.json")) << R"({"model_type": "gpt_oss", "hidden_size": 16})";
  EXPECT_EQ(axis(square), 1U);
  PruneOptions options;
  options.k_axis = "last";
  EXPECT_EQ(choice(square, options).layers.at(0).layout.k_axis, 2U);
  options.k_axis = "2";
  support::expect_input_error([&] { choice(square, options); }, {"--k-axis must be last or 1, not '2'"});
}

TEST_F(LayerChoices, ExpertsOfDbrxMakeFeaturesAlongTheirFirstAxis) {
  const LayerChoice found =
      choice({f16("blocks.0.ffn.experts.mlp.w1", {32, 16}), f16("blocks.0.ffn.experts.mlp.w2", {32, 16})});
  EXPECT_EQ(found.layers.at(0).layout.k, 16);
  EXPECT_EQ(found.layers.at(1).layout.k, 32);
  EXPECT_TRUE(found.layers.at(1).layout.k_first);
}

TEST_F(LayerChoices, FiltersOfThreeAxesSayTheirAxis) {
  const std::vector<io::Tensor> tensors{f16("conv1.weight", {8, 16, 3})};
  EXPECT_EQ(choice(tensors).layers.at(0).layout.k, 16);
  EXPECT_EQ(choice(tensors).notes.at(0),
            "'conv1.weight': filters [rows, k, taps]; --k-axis last takes the last axis as k");
}

TEST_F(LayerChoices, ATensorOfAnUnknownTypeIsNamedAndStays) {
  for (const std::string dtype : {"F4", "F8_E8M0", "I4", "U4", "C64", "F6_E2M3"}) {
    const std::vector<io::Tensor> tensors{f16("a.weight", {8, 16}), tensor("b.weight", dtype, {8, 16})};
    const PruneReport report = prune_model(model(tensors), path("o.safetensors"), {}, {});
    EXPECT_EQ(changed(path("o.safetensors"), tensors), std::vector<std::string>{"a.weight"});
    EXPECT_EQ(report.notes, std::vector<std::string>{"'b.weight': left byte for byte, of type " + dtype});
    support::expect_input_error([&] { prune_model(path("m.safetensors"), path("o.npz"), {}, {}); },
                                {"NumPy has no type " + dtype});
  }
}

TEST_F(LayerChoices, LayoutsThatAreNotWrittenSayWhich) {
  EXPECT_EQ(parse_weight_layout("compressed-tensors"), WeightLayout::kSparse24Bitmask);
  support::expect_input_error([] { parse_weight_layout("gguf"); }, {"unknown layout 'gguf'", "dense, can"});
  support::expect_input_error([] { parse_weight_layout("cutlass3"); }, {"CUTLASS 3.x", "cutlass-sm90"});
}

/// y = x w, with w through `nodes`, which make "v" of it.
std::string graph(const std::string& weight, const std::string& nodes, const std::string& more = "") {
  return onnx::model(onnx::input("x", 1, {2, 8}) + weight + more + nodes + onnx::node("MatMul", {"x", "v"}, "y") +
                     onnx::bytes(12, onnx::bytes(1, "y")));
}
std::string real_weight(std::initializer_list<std::int64_t> dims) {
  std::string raw;
  for (int i = 0; i < 128; ++i) {
    const float value = static_cast<float>(1 + i * 7 % 13);
    raw.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return onnx::bytes(5, onnx::tensor("w", 1, dims, onnx::bytes(9, raw)));
}

class LayersOfGraphs : public LayerChoices {
 protected:
  LayerChoice choice_of(const std::string& bytes) const {
    std::ofstream(path("g.onnx"), std::ios::binary) << bytes;
    return find_layers(*ModelFile::open(path("g.onnx")), {});
  }
};

const std::string kQuantize =
    onnx::node("QuantizeLinear", {"w", "s", "z"}, "q") + onnx::node("DequantizeLinear", {"q", "s", "z"}, "d");
const std::string kScale = onnx::bytes(5, onnx::tensor("s", 1, {1}, onnx::bytes(9, std::string(4, '\1')))) +
                           onnx::bytes(5, onnx::tensor("z", 3, {1}, onnx::bytes(9, "\5")));

TEST_F(LayersOfGraphs, AFloatWeightThatIsQuantisedIsTheSameLayer) {
  const auto found = choice_of(graph(real_weight({8, 16}), kQuantize + onnx::node("Identity", {"d"}, "v"), kScale));
  ASSERT_EQ(found.layers.size(), 1U);
  EXPECT_EQ(found.layers[0].skipped, "") << "a zero point is no obstacle before QuantizeLinear";
  EXPECT_EQ(found.layers[0].layout.k, 8);
  EXPECT_TRUE(found.layers[0].layout.k_first);
}

TEST_F(LayersOfGraphs, TransposesAndReshapesBetweenMoveTheAxisOfK) {
  const auto turned = choice_of(graph(real_weight({16, 8}), kQuantize + onnx::node("Transpose", {"d"}, "v"), kScale));
  ASSERT_EQ(turned.layers.size(), 1U);
  EXPECT_EQ(turned.layers[0].layout.k, 8);
  EXPECT_FALSE(turned.layers[0].layout.k_first);
  const auto flat =
      choice_of(graph(real_weight({8, 16, 1}), onnx::node("Reshape", {"w", "to"}, "v"), onnx::shape("to", {8, -1})));
  ASSERT_EQ(flat.layers.size(), 1U);
  EXPECT_EQ(flat.layers[0].skipped, "");
  EXPECT_EQ(flat.layers[0].layout.k, 8);
  EXPECT_EQ(flat.layers[0].layout.rows, 16);
  const auto joined =
      choice_of(graph(real_weight({2, 4, 16}), onnx::node("Reshape", {"w", "to"}, "v"), onnx::shape("to", {8, 16})));
  ASSERT_EQ(joined.layers.size() + joined.notes.size(), 1U);
  EXPECT_NE((joined.layers.empty() ? joined.notes[0] : joined.layers[0].skipped).find("joins"), std::string::npos);
}

TEST_F(LayersOfGraphs, FiltersOfAnotherOrderKeepTheirChannels) {
  const std::string bytes = onnx::model(onnx::input("x", 1, {1, 8, 4, 4}) + real_weight({2, 2, 8, 4}) +
                                        onnx::node("Transpose", {"w"}, "v", onnx::ints("perm", {3, 2, 0, 1})) +
                                        onnx::node("Conv", {"x", "v"}, "y") + onnx::bytes(12, onnx::bytes(1, "y")));
  const auto found = choice_of(bytes);
  ASSERT_EQ(found.layers.size(), 1U);
  const LayerLayout& layout = found.layers[0].layout;
  EXPECT_EQ((std::vector{layout.rows, layout.k, layout.taps}), (std::vector<std::int64_t>{4, 8, 4}));
  EXPECT_EQ((std::vector{layout.row_stride, layout.k_stride, layout.tap_stride}),
            (std::vector<std::int64_t>{1, 4, 32}));
}

TEST_F(LayersOfGraphs, IntegersWithAZeroPointAndNibblesSayWhyTheyStay) {
  const std::string dequantize = onnx::node("DequantizeLinear", {"w", "s", "z"}, "v");
  const std::string raw(128, '\1');
  const auto integers =
      choice_of(graph(onnx::bytes(5, onnx::tensor("w", 3, {8, 16}, onnx::bytes(9, raw))), dequantize, kScale));
  EXPECT_NE(integers.layers.at(0).skipped.find("zero point is not 0"), std::string::npos);
  for (const auto& [type, name] : {std::pair(21, "UINT4"), std::pair(22, "INT4")}) {
    const std::string bytes = graph(onnx::bytes(5, onnx::tensor("w", type, {8, 16}, onnx::bytes(9, raw.substr(64)))),
                                    onnx::node("DequantizeLinear", {"w", "s"}, "v"), kScale);
    const auto nibbles = choice_of(bytes);
    ASSERT_EQ(nibbles.notes.size(), 1U);
    EXPECT_EQ(nibbles.notes[0],
              "weight 'w' [16 x 8] is left: its elements are " + std::string(name) + ", which are not pruned here");
    support::expect_input_error([&] { prune_model(path("g.onnx"), {}, {}, {}); }, {name});
  }
  const auto packed = choice_of(
      onnx::model(onnx::input("x", 1, {2, 32}) + onnx::bytes(5, onnx::tensor("w", 2, {8, 1, 16}, onnx::bytes(9, raw))) +
                  onnx::node("MatMulNBits", {"x", "w", "s"}, "y",
                             onnx::integer("N", 8) + onnx::integer("K", 32) + onnx::integer("bits", 4)) +
                  onnx::bytes(12, onnx::bytes(1, "y"))));
  ASSERT_EQ(packed.notes.size(), 1U);
  EXPECT_EQ(packed.notes[0], "weight 'w' [8 x 32] is left: weights that MatMulNBits unpacks are not pruned here");
}

TEST_F(LayersOfGraphs, HeadsStayDenseByTheNameOfTheirNode) {
  const std::string name = onnx::bytes(3, "/lm_head/MatMul");
  const auto found =
      choice_of(onnx::model(onnx::input("x", 1, {2, 8}) + real_weight({8, 16}) +
                            onnx::node("MatMul", {"x", "w"}, "y", name) + onnx::bytes(12, onnx::bytes(1, "y"))));
  ASSERT_EQ(found.layers.size(), 1U);
  EXPECT_EQ(found.layers[0].skipped, "head by its name (--include prunes it)");
}

}  // namespace
}  // namespace sptc::prune
