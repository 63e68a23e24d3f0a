// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_file.h"

#include "sim/check/vectors/bit_array.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sim/check/kernel/synthetic_kernel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using nlohmann::json;
using numerics::DataType;

class KernelFile : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const SyntheticKernel kernel{"A100", "mma.sp.m16n8k32.f32.f16.f16.f32", 32, 24, 64};

  KernelFile() {
    io::write_npy(path("a.npy"), kernel.compressed.values, DataType::kF16);
    io::write_npy(path("dense.npy"), kernel.a, DataType::kF16);
    io::write_npy(path("b.npy"), kernel.b_columns.transposed(), DataType::kF16);
    io::write_npy(path("b_columns.npy"), kernel.b_columns, DataType::kF16);
    io::write_npy(path("d.npy"), kernel.compute(), DataType::kF32);
    vectors::write_bit_array(path("e.npy"), kernel.data.metadata->array.reshaped({32, 4}));
  }

  std::filesystem::path path(const std::string& name) const { return temporary.path() / name; }

  static json valid() {
    return {{"schema", "sptcsim-kernel/0.1"}, {"name", "spmm"},
            {"architecture", "A100"},         {"instruction", "mma.sp.m16n8k32.f32.f16.f16.f32"},
            {"a", {{"file", "a.npy"}}},       {"metadata", {{"file", "e.npy"}, {"layout", "canonical"}}},
            {"b", {{"file", "b.npy"}}},       {"d", {{"file", "d.npy"}}}};
  }

  KernelCase read(const json& file) const { return parse_kernel_file(file.dump(), "kernel.json", temporary.path()); }

  bool bit_exact(const json& file) const {
    const KernelCase read_back = read(file);
    return crosscheck_kernel(read_back.data, read_back.declared, read_back.target, 1).bit_exact();
  }

  /// Expects that the file with `change` is refused with a sentence that contains `parts`.
  void expect_refused(const std::function<void(json&)>& change, std::initializer_list<std::string_view> parts) const {
    json file = valid();
    change(file);
    support::expect_input_error([&] { read(file); }, parts);
  }
};

TEST_F(KernelFile, HoldsAKernelThatIsRight) {
  io::write_file(path("kernel.json"), valid().dump());
  const KernelCase from_file = read_kernel_file(path("kernel.json"));
  EXPECT_EQ(from_file.name, "spmm");
  EXPECT_EQ(from_file.data.m, 32U);
  EXPECT_EQ(from_file.data.n, 24U);
  EXPECT_EQ(from_file.data.k, 64U);
  EXPECT_TRUE(bit_exact(valid()));
}

TEST_F(KernelFile, TakesColumnsAndSafetensors) {
  json file = valid();
  file["b"] = {{"file", "b_columns.npy"}, {"order", "column"}};
  EXPECT_TRUE(bit_exact(file));
  const io::Tensor tensors[] = {io::make_tensor("weight", kernel.compressed.values, DataType::kF16),
                                io::make_tensor("input", kernel.b_columns.transposed(), DataType::kF16),
                                io::make_tensor("output", kernel.compute(), DataType::kF32)};
  io::write_safetensors(path("all.safetensors"), tensors);
  file["a"] = {{"file", "all.safetensors"}, {"tensor", "weight"}};
  file["b"] = {{"file", "all.safetensors"}, {"tensor", "input"}};
  file["d"] = {{"file", "all.safetensors"}, {"tensor", "output"}};
  EXPECT_TRUE(bit_exact(file));
  file["a"].erase("tensor");
  support::expect_input_error([&] { read(file); }, {"/a", "several tensors"});
}

TEST_F(KernelFile, TakesTheTypesOfSafetensors) {
  struct Named {
    const char* type;
    const char* stored;
    std::int64_t bytes;
    const char* d;
    std::int64_t d_bytes;
    DataType d_type;
  };
  const auto ones = [](const char* name, const char* stored, std::int64_t rows, std::int64_t cols, std::int64_t bytes) {
    return io::Tensor{name,
                      stored,
                      {rows, cols},
                      std::vector<std::byte>(static_cast<std::size_t>(rows * cols * bytes), std::byte{1})};
  };
  for (const Named& one :
       {Named{"bf16", "BF16", 2, "BF16", 2, DataType::kBf16}, Named{"e4m3", "F8_E4M3", 1, "F16", 2, DataType::kF16},
        Named{"e5m2", "F8_E5M2", 1, "F32", 4, DataType::kF32}, Named{"s8", "I8", 1, "I32", 4, DataType::kS32}}) {
    const io::Tensor tensors[] = {ones("fc.weight", one.stored, 16, 32, one.bytes),
                                  ones("x", one.stored, 32, 8, one.bytes), ones("y", one.d, 16, 8, one.d_bytes),
                                  ones("fc.bias", "BF16", 1, 16, 2)};
    io::write_safetensors(path("x.safetensors"), tensors);
    const auto named = [](const char* tensor) { return json{{"file", "x.safetensors"}, {"tensor", tensor}}; };
    json file{{"schema", "sptcsim-kernel/0.1"}, {"architecture", "sm_89"}, {"types", {{"a", one.type}}},
              {"a", named("fc.weight")},        {"b", named("x")},         {"d", named("y")}};
    if (one.d_type != DataType::kS32) {
      file["epilogue"]["bias"] = named("fc.bias");
    }
    const KernelData data = read(file).data;
    EXPECT_EQ(data.a.words.front(), one.bytes == 2 ? 0x0101U : 0x01U) << one.type;
    EXPECT_EQ(data.d_type, one.d_type) << one.type;
    EXPECT_EQ(data.bias.size(), one.d_type == DataType::kS32 ? 0U : 16U) << one.type;
    file["types"]["a"] = "f16";
    support::expect_input_error([&] { read(file); }, {"/a: x.safetensors: elements are ", one.stored, "bits of f16"});
  }
}

TEST_F(KernelFile, TakesTheTypeOfDThatItsFileSays) {
  EXPECT_EQ(read(valid()).data.d_type, DataType::kF32);
  io::write_npy(path("half.npy"), base::Matrix<numerics::Word>(32, 24), DataType::kF16);
  vectors::write_bit_array(path("words.npy"), vectors::make_bit_array({32, 24}, 4));
  json file = valid();
  file["d"]["file"] = "half.npy";
  EXPECT_EQ(read(file).data.d_type, DataType::kF16);
  file["d"]["file"] = "words.npy";  // bits: those of the accumulator
  EXPECT_EQ(read(file).data.d_type, DataType::kF32);
  file["d"]["type"] = "f16";
  support::expect_input_error([&] { read(file); }, {"/d", "bits of f16"});
}

TEST_F(KernelFile, TakesADenseAThatIsPrunedOnTheWay) {
  json file = valid();
  file.erase("metadata");
  file["a"] = {{"file", "dense.npy"}, {"prune", "magnitude"}};
  EXPECT_TRUE(bit_exact(file));
  file["a"].erase("prune");
  support::expect_input_error([&] { read(file); }, {"kernel.json: /a: A of a sparse instruction: the matrix is not 2:4",
                                                    "row 0, group", "\"prune\": \"magnitude\" prunes it"});
}

TEST_F(KernelFile, ChoosesTheDeepestInstructionOfTheTypes) {
  json file = valid();
  file.erase("instruction");
  file.erase("architecture");
  file["types"] = {{"a", "f16"}};
  file["sparse"] = true;
  const KernelCase chosen = read(file);
  EXPECT_EQ(chosen.declared.instruction, kernel.declared.instruction);
  EXPECT_EQ(chosen.target.name, "sm_80");
}

TEST_F(KernelFile, ReadsTheOrderAlongK) {
  json file = valid();
  file["k_order"] = {{"split_k", 2}, {"reduction", "parallel"}, {"c", "epilogue"}, {"tile_k", 32}};
  const KOrder order = read(file).declared.order;
  EXPECT_EQ(order.slices, 2);
  EXPECT_EQ(order.reduction, Reduction::kParallel);
  EXPECT_TRUE(order.c_in_epilogue);
  EXPECT_EQ(order.granule, 32);
}

TEST_F(KernelFile, GivesWayToWhatACallerSays) {
  json file = valid();
  file["k_order"] = {{"split_k", 4}};
  KernelChoice choice;
  choice.arch = "H100";
  choice.instruction = "mma.sp.m16n8k16.f32.f16.f16.f32";
  choice.k_order = "split_k=2,reduction=tree";
  choice.tolerance = "ulps:3";
  const KernelCase chosen = parse_kernel_file(file.dump(), "f", temporary.path(), choice);
  EXPECT_EQ(chosen.target.name, "sm_90");
  EXPECT_EQ(chosen.declared.instruction.shape.k, 16);
  EXPECT_EQ(chosen.declared.order.slices, 2);
  EXPECT_EQ(chosen.declared.order.reduction, Reduction::kTree);
  EXPECT_EQ(chosen.tolerance.ulps, 3U);
  for (const auto& [order, part] : {std::pair{"split_k=", "--k-order must be KEY=VALUE,..."},
                                    {"=3", "--k-order must be"},
                                    {"split_k=two", "--k-order: /split_k: "},
                                    {"split_k=99999999999", "--k-order: /split_k: "},
                                    {"split_k=2,split_k=3", "--k-order: 'split_k' stands there twice"},
                                    {"reduction=tree", "split_k"}}) {
    choice.k_order = order;
    support::expect_input_error([&] { parse_kernel_file(file.dump(), "f", temporary.path(), choice); }, {part});
  }
  choice.k_order.clear();
  choice.entry = 0;
  support::expect_input_error([&] { parse_kernel_file(file.dump(), "f", temporary.path(), choice); },
                              {"--entry: no operand is a batch"});
}

TEST_F(KernelFile, ReadsTheEpilogueAndItsBias) {
  base::Matrix<numerics::Word> bias(1, 24);
  bias(0, 0) = 0x3800;   // 0.5
  bias(0, 23) = 0xC000;  // -2
  io::write_npy(path("bias.npy"), bias, DataType::kF16);
  json file = valid();
  file["epilogue"] = {{"alpha", 0.5},
                      {"beta", 2},
                      {"scale_a", 0.25},
                      {"scale_b", 4},
                      {"scale_d", 3},
                      {"activation", "relu"},
                      {"bias", {{"file", "bias.npy"}, {"type", "f16"}, {"along", "n"}}}};
  const KernelCase scaled = read(file);
  Epilogue expected;
  expected.alpha = 0.5F;
  expected.beta = 2;
  expected.scale_a = 0.25F;
  expected.scale_b = 4;
  expected.scale_d = 3;
  expected.activation = Activation::kRelu;
  expected.bias_of_columns = true;
  EXPECT_EQ(scaled.declared.epilogue, expected);
  EXPECT_TRUE(scaled.declared.order.c_in_epilogue);
  ASSERT_EQ(scaled.data.bias.size(), 24U);
  EXPECT_EQ(scaled.data.bias.front(), 0.5F);
  EXPECT_EQ(scaled.data.bias.back(), -2.0F);
  file["epilogue"] = {{"scale_d", 3}};
  EXPECT_FALSE(read(file).declared.order.c_in_epilogue);
}

TEST_F(KernelFile, TypesChooseTheOperandsAndTheAccumulator) {
  const auto instruction = [&](const json& types) {
    json file = valid();
    file.erase("instruction");
    file.erase("metadata");
    file["a"]["file"] = "dense.npy";
    file["types"] = types;
    return read(file).declared.instruction.ptx_name();
  };
  EXPECT_EQ(instruction({{"a", "f16"}}), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_EQ(instruction({{"a", "f16"}, {"b", "f16"}, {"accumulator", "f32"}}),
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_EQ(support::input_error_of([&] {
              instruction({{"a", "e4m3"}, {"b", "e5m2"}});
            }),
            "kernel.json: /types: sm_80 has no dense instruction over e4m3 and e5m2 to f32");
  EXPECT_EQ(support::input_error_of([&] {
              instruction({{"a", "f16"}, {"accumulator", "bf16"}});
            }),
            "kernel.json: /types/accumulator: unknown type 'bf16' (nearest valid: 'f16'; allowed: "
            "f32, f16, s32)");
}

/// `change`, and the sentence that it is refused with.
struct Refusal {
  std::function<void(json&)> change;
  std::string sentence;
};

TEST_F(KernelFile, RefusesEpiloguesThatNoKernelHas) {
  io::write_npy(path("bias.npy"), base::Matrix<numerics::Word>(1, 24), DataType::kF32);
  io::write_npy(path("a8.npy"), base::Matrix<numerics::Word>(32, 64), DataType::kS8);
  io::write_npy(path("b8.npy"), base::Matrix<numerics::Word>(64, 24), DataType::kS8);
  io::write_npy(path("d32.npy"), base::Matrix<numerics::Word>(32, 24), DataType::kS32);
  const Refusal refusals[] = {
      {[](json& f) { f["epilogue"]["alpha"] = "2"; }, "/epilogue/alpha: must be a number of f32, not \"2\""},
      {[](json& f) { f["epilogue"]["scale_d"] = 1e300; }, "/epilogue/scale_d: must be a number of f32, not 1e+300"},
      {[](json& f) { f["epilogue"]["activation"] = "rely"; },
       "/epilogue/activation: must be one of 'rely' (nearest valid: 'relu'; allowed: none, relu)"},
      {[](json& f) {
         f["epilogue"]["bias"] = {{"file", "bias.npy"}};
       },
       "/epilogue/bias: must hold 32 elements of f32, not 24 of F32"},
      {[](json& f) {
         f["epilogue"]["bias"] = {{"file", "bias.npy"}, {"along", "n"}, {"type", "bf16"}};
       },
       "/epilogue/bias: must hold 24 elements of bf16, not 24 of F32"},
      {[](json& f) {
         f["epilogue"]["beta"] = 2;
         f["k_order"]["c"] = "accumulator";
       },
       "/k_order/c: with alpha, beta or a scale C is added in the epilogue"},
      {[](json& f) {
         f = {{"schema", f["schema"]},      {"instruction", "m16n8k32.s32.s8.s8.s32"},
              {"a", {{"file", "a8.npy"}}},  {"b", {{"file", "b8.npy"}}},
              {"d", {{"file", "d32.npy"}}}, {"epilogue", json::object()}};
       },
       "/epilogue: D of integers is their sum: there is no epilogue"},
  };
  for (const Refusal& refusal : refusals) {
    json file = valid();
    refusal.change(file);
    EXPECT_EQ(support::input_error_of([&] { read(file); }), "kernel.json: " + refusal.sentence);
  }
}

TEST_F(KernelFile, RefusesWhatItDoesNotUnderstand) {
  expect_refused([](json& f) { f["schema"] = "x"; }, {"/schema", "sptcsim-kernel/0.1"});
  expect_refused([](json& f) { f["metdata"] = 1; }, {"metdata", "metadata"});
  expect_refused([](json& f) { f["architecture"] = "A200"; }, {"/architecture", "A100"});
  expect_refused([](json& f) { f["instruction"] = "m16n8k7.f32.f16.f16.f32"; }, {"/instruction", "near ones"});
  expect_refused([](json& f) { f["instruction"] = "mma.m8n8k4.f64.f64.f64.f64"; }, {"f64"});
  expect_refused([](json& f) { f["types"] = {{"a", "f16"}}; }, {"either"});
  expect_refused([](json& f) { f["sparse"] = true; }, {"/sparse"});
  expect_refused([](json& f) { f["d"]["type"] = "s32"; }, {"/d/type", "f32, f16, bf16"});
  expect_refused([](json& f) { f["metadata"]["layout"] = "row"; }, {"/metadata/layout", "canonical"});
  expect_refused([](json& f) { f["metadata"]["selector"] = 1; }, {"/metadata/selector", "lanes"});
  expect_refused([](json& f) { f["k_order"] = {{"split_k", 0}}; }, {"/k_order/split_k"});
  expect_refused([](json& f) { f["k_order"] = {{"reduction", "tree"}}; }, {"split_k"});
  expect_refused(
      [](json& f) {
        f["k_order"] = {{"split_k", 2}, {"reduction", "trees"}};
      },
      {"/k_order/reduction", "'tree'"});
  expect_refused([](json& f) { f["a"]["prune"] = "magnitude"; }, {"/a/prune"});
  expect_refused([](json& f) { f.erase("d"); }, {"d"});
  support::expect_input_error([&] { parse_kernel_file("[", "kernel.json", temporary.path()); },
                              {"kernel.json", "line 1"});
}

TEST_F(KernelFile, RefusesTensorsThatDoNotFit) {
  expect_refused([](json& f) { f["a"]["file"] = "none.npy"; }, {"none.npy", "no such file"});
  expect_refused([](json& f) { f["a"]["file"] = "d.npy"; }, {"/a", "F32", "f16"});
  expect_refused([](json& f) { f["d"]["type"] = "f16"; }, {"/d", "bits of f16"});
  expect_refused([](json& f) { f["metadata"]["file"] = "b.npy"; }, {"/metadata", "integers"});
  expect_refused([](json& f) { f["metadata"]["layout"] = "lanes"; },
                 {"kernel.json: /metadata: A of [32, 32]: metadata must hold "});
  expect_refused([](json& f) { f["metadata"]["layout"] = "indices"; },
                 {"/metadata: there must be an index for each of the 1024 elements of A, not 128"});
  expect_refused([](json& f) { f["instruction"] = "m16n8k16.f32.f16.f16.f32"; },
                 {"/metadata: a dense instruction takes no metadata"});
  io::write_file(path("kernel.json"), valid().dump());
  EXPECT_EQ(support::input_error_of([&] {
              read_kernel_file(path("kernel.json"), {"gemm", {}});
            }),
            "--launch names a launch of a .npz file of --save-operands");
}

TEST_F(KernelFile, BlamesTheOperandThatDoesNotFit) {
  io::write_npy(path("a62.npy"), base::Matrix<numerics::Word>(32, 62), DataType::kF16);
  io::write_npy(path("b62.npy"), base::Matrix<numerics::Word>(62, 24), DataType::kF16);
  io::write_npy(path("d_columns.npy"), kernel.compute().transposed(), DataType::kF32);
  const Refusal refusals[] = {
      {[](json& f) { f["b"]["file"] = "b_columns.npy"; },
       R"(/b: B is [24, 64]; with A's k of 64 it must be [64, n]: say "order": "column" or transpose it)"},
      {[](json& f) { f["b"]["order"] = "column"; },
       R"(/b: B is [24, 64]; with A's k of 64 it must be [64, n]: say "order": "row" or transpose it)"},
      {[](json& f) { f["b"]["file"] = "b62.npy"; }, "/b: B is [62, 24]; with A's k of 64 it must be [64, n]"},
      {[](json& f) { f["a"]["file"] = "dense.npy"; },
       R"(/a: A is [32, 64], as deep as B; with "metadata" it must be the values that are kept, [32, 32])"},
      {[](json& f) { f.erase("metadata"); },
       R"(/a: A is [32, 32]; B's k of 64 needs [32, 64], or "metadata" for these values)"},
      {[](json& f) {
         f.erase("metadata");
         f["a"]["file"] = "a62.npy";
         f["b"]["file"] = "b62.npy";
       },
       "top level: k = 62 is no multiple of 4, a group of 2:4"},
      {[](json& f) {
         f["c"] = {{"file", "b.npy"}, {"type", "f16"}};
       },
       "/c: C must be [32, 24], not [64, 24] (m = 32 from A, n = 24 from B)"},
      {[](json& f) { f["d"]["file"] = "d_columns.npy"; },
       "/d: D must be [32, 24], not [24, 32] (m = 32 from A, n = 24 from B): say \"order\": \"column\" or transpose "
       "it"},
  };
  for (const Refusal& refusal : refusals) {
    expect_refused(refusal.change, {"kernel.json: " + refusal.sentence});
  }
}

/// The n of a transposed B is half of k, so that A looks dense beside it: D tells.
TEST_F(KernelFile, TellsATransposedOperandByD) {
  io::write_npy(path("a.npy"), base::Matrix<numerics::Word>(32, 64), DataType::kF16);
  io::write_npy(path("b.npy"), base::Matrix<numerics::Word>(64, 128), DataType::kF16);
  io::write_npy(path("d.npy"), base::Matrix<numerics::Word>(32, 64), DataType::kF32);
  support::expect_input_error([&] { read(valid()); }, {"/b: B is [64, 128]; with A's k of 128 it must be [128, n]"});
  json dense = valid();
  dense.erase("metadata");
  dense["instruction"] = "m16n8k16.f32.f16.f16.f32";
  io::write_npy(path("a.npy"), base::Matrix<numerics::Word>(64, 32), DataType::kF16);
  support::expect_input_error([&] { read(dense); }, {"/a: A is [64, 32]; with B's k of 64 it must be [m, 64]: say"});
}

}  // namespace
}  // namespace sptc::check::kernel
