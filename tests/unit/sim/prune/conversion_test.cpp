// SPDX-License-Identifier: Apache-2.0
//
// Weights between the layouts of compressors and of checkpoints: what is written comes back, byte
// for byte. tests/python/checkpoints_test.py compares with the packages themselves.
#include "sim/prune/conversion.h"

#include "models/base/random.h"
#include "sim/io/tensor_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sptc::prune {
namespace {

constexpr std::int64_t kRows = 128, kK = 256, kWide = 512;
constexpr std::size_t kElements = std::size_t{kRows} * kK;

/// The elements of `values` as a tensor of `dtype`.
template <typename T>
io::Tensor tensor(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape,
                  const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {name, dtype, shape, {bytes.begin(), bytes.end()}};
}

/// Codes of -8 to 7, two of four, some groups with fewer.
std::vector<std::int8_t> sparse_codes(std::size_t count) {
  const base::RandomStream stream(20261129);
  std::vector<std::int8_t> codes(count);
  for (std::size_t group = 0; group < count / 4; ++group) {
    const auto first = static_cast<std::size_t>(stream.below(4 * group, 4));
    const auto second = static_cast<std::size_t>(stream.below(4 * group + 1, 4));
    codes[4 * group + first] = static_cast<std::int8_t>(static_cast<int>(stream.below(4 * group + 2, 16)) - 8);
    codes[4 * group + second] = static_cast<std::int8_t>(static_cast<int>(stream.below(4 * group + 3, 16)) - 8);
  }
  return codes;
}

class Conversions : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;

  std::filesystem::path path(const std::string& name) const { return temporary.path() / name; }
  std::filesystem::path model(const std::vector<io::Tensor>& tensors) const {
    io::write_safetensors(path("m.safetensors"), tensors);
    return path("m.safetensors");
  }
  std::filesystem::path converted(const std::filesystem::path& from, const std::string& layout, const std::string& name,
                                  std::optional<numerics::DataType> dtype = {}) const {
    PruneOptions options;
    options.layout = parse_weight_layout(layout);
    options.dtype = dtype;
    convert_model(from, path(name + ".safetensors"), options);
    return path(name + ".safetensors");
  }
  /// The bytes of the tensors of a file, by name.
  static std::map<std::string, std::vector<std::byte>> bytes(const std::filesystem::path& file) {
    std::map<std::string, std::vector<std::byte>> result;
    const io::TensorFile opened = io::TensorFile::open(file);
    for (const io::Tensor& tensor : opened.tensors()) {
      result[tensor.name] = tensor.bytes;
    }
    return result;
  }
  /// A weight of f16 whose groups keep two of four, and a bias.
  std::filesystem::path half_model() const {
    const std::vector<std::int8_t> codes = sparse_codes(kElements);
    std::vector<std::uint16_t> words(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      words[i] = static_cast<std::uint16_t>(codes[i] == 0 ? 0 : 0x3C00 + codes[i] + 8);
    }
    return model({tensor("fc.weight", "F16", {kRows, kK}, words),
                  tensor("fc.bias", "F16", {2}, std::vector<std::uint16_t>{1, 2})});
  }
  /// Codes of four bits with a scale of each row and 128 columns.
  std::filesystem::path integer_model() const {
    std::vector<std::uint16_t> scale(2 * kElements / 128);
    for (std::size_t i = 0; i < scale.size(); ++i) {
      scale[i] = static_cast<std::uint16_t>(0x2000 + i);
    }
    return model({tensor("fc.weight", "I8", {kRows, kWide}, sparse_codes(2 * kElements)),
                  tensor("fc.weight_scale", "F16", {kRows, 4}, scale)});
  }
};

TEST_F(Conversions, EveryLayoutComesBackByteForByte) {
  const std::filesystem::path dense = half_model();
  const auto original = bytes(dense);
  const std::vector<std::string> layouts = {
      "canonical",     "ptx",     "cutlass",     "cutlass-sm90", "cutlass-sm90-k64",
      "cutlass-sm100", "pytorch", "pytorch-old", "marlin",       "sparse-24-bitmask"};
  for (const std::string& from : layouts) {
    const std::filesystem::path first = converted(dense, from, "first");
    EXPECT_EQ(bytes(converted(first, "dense", "dense")), original) << from;
    for (const std::string& to :
         {std::string("canonical"), std::string("sparse-24-bitmask"), std::string("cutlass-sm90")}) {
      if (from.starts_with("pytorch")) {
        continue;  // its own names of under-full groups are those of the writer
      }
      const auto back = converted(converted(first, to, "second"), from, "third");
      EXPECT_EQ(bytes(back), bytes(first)) << from << " by " << to;
    }
  }
}

TEST_F(Conversions, TheMaskOfCompressedTensorsHasABitForEachColumn) {
  const std::vector<std::uint16_t> row = {0x3C00, 0, 0x4000, 0, 0, 0, 0x4200, 0x4400};
  const auto file = bytes(converted(model({tensor("a.weight", "F16", {1, 8}, row)}), "compressed-tensors", "out"));
  EXPECT_EQ(file.at("a.bitmask"), std::vector<std::byte>{std::byte{0b11000101}});
  EXPECT_EQ(file.at("a.compressed"),
            tensor("", "", {}, std::vector<std::uint16_t>{0x3C00, 0x4000, 0x4200, 0x4400}).bytes);
  EXPECT_EQ(file.at("a.shape"), tensor("", "", {}, std::vector<std::int64_t>{1, 8}).bytes);
}

TEST_F(Conversions, TheMaskHoldsFloatsThatNoTensorCoreTakes) {
  const std::vector<float> row = {1, 2, 0, 0, 0, 3, 0, 0};  // 2:4, and not 1:2
  const std::filesystem::path file = model({tensor("a.weight", "F32", {1, 8}, row)});
  const std::filesystem::path mask = converted(file, "sparse-24-bitmask", "mask");
  EXPECT_EQ(bytes(mask).at("a.bitmask"), std::vector<std::byte>{std::byte{0b00110011}});
  EXPECT_EQ(bytes(mask).at("a.compressed"), tensor("", "", {}, std::vector<float>{1, 2, 0, 3}).bytes);
  EXPECT_EQ(bytes(converted(mask, "dense", "dense")), bytes(file));
  EXPECT_EQ(bytes(converted(mask, "sparse-24-bitmask", "again")), bytes(mask));
  support::expect_input_error(
      [&] {
        converted(model({tensor("a.weight", "F32", {1, 4}, std::vector<float>{1, 2, 3, 0})}), "sparse-24-bitmask",
                  "no");
      },
      {"row 0, group 0 holds 3 non-zeros"});
}

TEST_F(Conversions, PackedCodesStandFirstLowest) {
  const std::vector<std::int8_t> row = {-8, -7, 0, 7, 1, 2, 3, -1};
  const std::filesystem::path file =
      model({tensor("a.weight", "I8", {1, 8}, row), tensor("a.weight_scale", "F32", {1, 1}, std::vector<float>{0.5F})});
  const std::filesystem::path packed = converted(file, "pack-quantized", "packed", numerics::DataType::kS4);
  EXPECT_EQ(bytes(packed).at("a.weight_packed"), tensor("", "", {}, std::vector<std::uint32_t>{0x7BA9F810}).bytes);
  EXPECT_EQ(bytes(packed).at("a.weight_shape"), tensor("", "", {}, std::vector<std::int64_t>{1, 8}).bytes);
  EXPECT_EQ(bytes(converted(packed, "int-quantized", "back")), bytes(file));
  const std::filesystem::path eight = converted(file, "pack-quantized", "eight");
  EXPECT_EQ(bytes(eight).at("a.weight_packed"),
            tensor("", "", {}, std::vector<std::uint32_t>{0x87807978, 0x7F838281U}).bytes);
  EXPECT_EQ(bytes(converted(eight, "int-quantized", "back")), bytes(file));
}

TEST_F(Conversions, MarlinsTilesComeBackWithTheirScales) {
  const std::filesystem::path integers = integer_model();
  const auto original = bytes(integers);
  for (const auto& [dtype, bits] :
       {std::pair<std::optional<numerics::DataType>, std::size_t>{numerics::DataType::kS4, 4}, {std::nullopt, 8}}) {
    const std::filesystem::path marlin = converted(integers, "marlin-24", "marlin", dtype);
    const auto parts = bytes(marlin);
    EXPECT_EQ(parts.at("fc.weight_packed").size(), kElements * bits / 8);
    EXPECT_EQ(parts.at("fc.meta").size(), kElements / 4);
    EXPECT_FALSE(parts.contains("fc.weight_scale"));
    // The scale of the second row of group 0 stands in the third place, by permutations_24.py.
    std::uint16_t scale = 0;
    std::memcpy(&scale, parts.at("fc.scale_packed").data() + 2 * 2, 2);
    EXPECT_EQ(scale, 0x2004);
    EXPECT_EQ(bytes(converted(marlin, "int-quantized", "back")), original) << bits;
    EXPECT_EQ(bytes(converted(converted(marlin, "cutlass", "pair"), "dense", "back")), original);
    EXPECT_EQ(bytes(converted(converted(marlin, "pack-quantized", "pack"), "marlin-24", "again")), parts);
  }
}

TEST_F(Conversions, TheFirstWordOfMarlinHasRowZero) {
  std::vector<std::int8_t> codes(64 * 128);
  for (std::size_t i = 0; i < 64; ++i) {
    codes[i / 2 * 4 + i % 2] = static_cast<std::int8_t>(i % 15 - 7);  // of row 0, all kept
  }
  const std::filesystem::path file =
      model({tensor("a.weight", "I8", {64, 128}, codes),
             tensor("a.weight_scale", "F16", {64, 1}, std::vector<std::uint16_t>(64, 0x3C00))});
  const auto parts = bytes(converted(file, "marlin-24", "out", numerics::DataType::kS4));
  std::uint32_t word = 0;
  std::memcpy(&word, parts.at("a.weight_packed").data(), sizeof word);
  // Lane 0 has the kept elements 0, 1, 8 and 9 of rows 0 and 4; the kernel wants the even ones
  // first, and zero is 8.
  const auto kept = [](int slot) { return static_cast<std::uint32_t>(slot % 15 - 7 + 8); };
  EXPECT_EQ(word & 0xF, kept(0));
  EXPECT_EQ(word >> 4 & 0xF, kept(8));
  EXPECT_EQ(word >> 8 & 0xF, 8U);
  EXPECT_EQ(word >> 16 & 0xF, kept(1));
  EXPECT_EQ(word >> 20 & 0xF, kept(9));
}

TEST_F(Conversions, FourBitFloatsKeepTheirCodes) {
  std::vector<std::uint8_t> packed(kElements / 2);
  const base::RandomStream stream(4);
  for (std::size_t i = 0; i < packed.size(); ++i) {  // pairs of columns are kept or not: 4:8
    const bool kept = i % 4 < 2;
    packed[i] = kept ? static_cast<std::uint8_t>(1 + stream.below(i, 7) + 0x10) : 0;
  }
  const std::filesystem::path file =
      model({tensor("a.weight_packed", "U8", {kRows, kK / 2}, packed),
             tensor("a.weight_scale", "F8_E4M3", {kRows, kK / 16}, std::vector<std::uint8_t>(kElements / 16, 0x38)),
             tensor("a.weight_global_scale", "F32", {1}, std::vector<float>{4.0F})});
  const std::filesystem::path pair = converted(file, "cutlass-sm100", "pair");
  EXPECT_EQ(bytes(pair).at("a.weight.metadata").size(), kElements / 16);
  EXPECT_EQ(bytes(converted(pair, "nvfp4-pack-quantized", "back")), bytes(file));
  const std::filesystem::path optimizer = converted(file, "modelopt-nvfp4", "optimizer");
  EXPECT_EQ(bytes(optimizer).at("a.weight"), bytes(file).at("a.weight_packed"));
  EXPECT_EQ(bytes(optimizer).at("a.weight_scale_2"), tensor("", "", {}, std::vector<float>{0.25F}).bytes);
  EXPECT_EQ(bytes(converted(optimizer, "nvfp4-pack-quantized", "again")), bytes(file));
  support::expect_input_error([&] { converted(file, "sparse-24-bitmask", "no"); }, {"does not hold elements of e2m1"});
  support::expect_input_error([&] { converted(file, "dense", "no"); }, {"no type", "e2m1"});
  packed.assign(packed.size(), 0x11);
  io::write_safetensors(path("m.safetensors"),
                        std::vector{tensor("a.weight_packed", "U8", {kRows, kK / 2}, packed),
                                    tensor("a.weight_scale", "F8_E4M3", {kRows, kK / 16},
                                           std::vector<std::uint8_t>(kElements / 16, 0x38)),
                                    tensor("a.weight_global_scale", "F32", {1}, std::vector<float>{4.0F})});
  support::expect_input_error([&] { converted(file, "cutlass-sm100", "no"); }, {"4:8"});
}

TEST_F(Conversions, WhatALayoutDoesNotHoldIsSaid) {
  const std::filesystem::path half = half_model();
  support::expect_input_error([&] { converted(half, "marlin-24", "no"); },
                              {"no quantised weights, which marlin-24 holds"});
  support::expect_input_error([] { parse_weight_layout("cusparselt"); }, {"NVIDIA does not document"});
  const std::filesystem::path pair = converted(half, "canonical", "pair");
  support::expect_input_error([&] { converted(pair, "pack-quantized", "no"); }, {"'fc.weight_scale'", "not there"});
  support::expect_input_error([&] { converted(pair, "cutlass", "no", numerics::DataType::kBf16); },
                              {"stored as f16, which is not rounded to bf16"});
  std::vector<std::int8_t> codes(64 * 128, 1);
  const auto with_scale = [&](const std::string& dtype, const auto& scale, const std::vector<std::int64_t>& shape) {
    return model({tensor("a.weight", "I8", {64, 128}, codes), tensor("a.weight_scale", dtype, shape, scale)});
  };
  std::filesystem::path file = with_scale("F16", std::vector<std::uint16_t>(64, 0x3C00), {64, 1});
  support::expect_input_error([&] { converted(file, "marlin-24", "no"); }, {"row 0, group 0", "2:4"});
  codes.assign(codes.size(), 0);
  codes[0] = 100;
  file = with_scale("F32", std::vector<float>(64, 0.1F), {64, 1});
  support::expect_input_error([&] { converted(file, "marlin-24", "no"); }, {"which F16 does not hold"});
  file = with_scale("F32", std::vector<float>(64, 0.5F), {64, 1});
  support::expect_input_error([&] { converted(file, "marlin-24", "no", numerics::DataType::kS4); },
                              {"of 4 bits does not hold the code 100 of row 0"});
  file = with_scale("F32", std::vector<float>{0.5F}, {1});
  support::expect_input_error([&] { converted(file, "marlin-24", "no"); }, {"needs a scale for each row"});
  support::expect_input_error([&] { converted(file, "float-quantized", "no"); }, {"holds e4m3, not s8"});
}

TEST_F(Conversions, DamagedCheckpointsAreRefused) {
  const auto bitmask = [&](std::uint8_t bits, std::int64_t k) {
    return model({tensor("a.compressed", "F16", {1, 4}, std::vector<std::uint16_t>(4, 0x3C00)),
                  tensor("a.bitmask", "U8", {1, 1}, std::vector<std::uint8_t>{bits}),
                  tensor("a.shape", "I64", {2, 1}, std::vector<std::int64_t>{1, k})});
  };
  EXPECT_EQ(bytes(converted(bitmask(0x33, 8), "dense", "out")).at("a.weight").size(), 16U);
  support::expect_input_error([&] { converted(bitmask(0x37, 8), "dense", "no"); },
                              {"'a.bitmask'", "row 0, group 0 of four has 3 bits, not 2"});
  support::expect_input_error([&] { converted(bitmask(0x33, 16), "dense", "no"); },
                              {"'a.compressed': must be F16 [1, 8]"});
  support::expect_input_error([&] { converted(bitmask(0x33, 6), "dense", "no"); }, {"k = 6 is no multiple of 4"});
  const auto packed = [&](std::int64_t rows, std::int64_t k) {
    return model({tensor("a.weight_packed", "I32", {1, 2}, std::vector<std::int32_t>(2)),
                  tensor("a.weight_scale", "F32", {1, 1}, std::vector<float>{0.5F}),
                  tensor("a.weight_shape", "I64", {2}, std::vector<std::int64_t>{rows, k})});
  };
  EXPECT_EQ(bytes(converted(packed(1, 8), "int-quantized", "out")).at("a.weight").size(), 8U);
  for (const auto& extents : {std::pair<std::int64_t, std::int64_t>{-1, 8}, {1, -1}, {2, 8}, {1, 1}, {1, 65}}) {
    support::expect_input_error([&] { converted(packed(extents.first, extents.second), "int-quantized", "no"); },
                                {"tensor 'a.weight_shape': must be the [rows, k]", "1 x 2 words"});
  }
  const std::filesystem::path file =
      model({tensor("a.weight_packed", "I32", {8, 256}, std::vector<std::int32_t>(8 * 256)),
             tensor("a.scale_packed", "F16", {1, 128}, std::vector<std::uint16_t>(128)),
             tensor("a.meta", "I16", {8, 128}, std::vector<std::int16_t>(8 * 128))});
  support::expect_input_error([&] { converted(file, "dense", "no"); }, {"'a.meta': must be I16"});
}

TEST_F(Conversions, TensorsOfTorchAreRead) {
  const std::filesystem::path pair = converted(half_model(), "pytorch", "pair");
  const io::TensorFile opened = io::TensorFile::open(pair);
  std::vector<io::Tensor> tensors = opened.tensors();
  for (io::Tensor& one : tensors) {
    one.name = one.name == "fc.weight.values"     ? "fc.weight.packed"
               : one.name == "fc.weight.metadata" ? "fc.weight.meta"
                                                  : one.name;
  }
  io::write_safetensors(path("torch.safetensors"), tensors);
  EXPECT_EQ(bytes(converted(path("torch.safetensors"), "dense", "dense")), bytes(path("m.safetensors")));
}

TEST_F(Conversions, WeightsThatAreNotReadAreNamed) {
  PruneOptions options;
  options.layout = WeightLayout::kDense;
  std::vector<io::Tensor> tensors =
      io::TensorFile::open(converted(half_model(), "sparse-24-bitmask", "bits")).tensors();
  tensors.push_back(tensor("b.qweight", "I32", {1, 8}, std::vector<std::int32_t>(8)));
  const ConversionReport report = convert_model(model(tensors), path("out.safetensors"), options);
  EXPECT_EQ(report.layers, 1);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("'b' is left as before"), std::string::npos) << report.notes[0];
}

}  // namespace
}  // namespace sptc::prune
