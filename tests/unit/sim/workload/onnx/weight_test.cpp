// SPDX-License-Identifier: Apache-2.0
// Weights of ONNX models as operand values.
#include "sim/workload/dense_role.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/onnx/operators.h"
#include "tests/support/onnx_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace sptc::workload::onnx {
namespace {

constexpr std::int64_t kFloat = 1, kUint8 = 2, kInt8 = 3, kFloat16 = 10;

template <typename Element>
std::string raw_of(const std::vector<Element>& values) {
  std::string raw(values.size() * sizeof(Element), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return sptc::onnx::bytes(9, raw);
}

std::string weight(const std::string& name, std::int64_t type, std::initializer_list<std::int64_t> dims,
                   const std::string& raw) {
  return sptc::onnx::bytes(5, sptc::onnx::tensor(name, type, dims, raw));
}

Recording read(const std::string& graph) {
  input::InputStream input(sptc::onnx::model(graph), "x");
  return importer::read_recording(input);
}

Operation first_of(const std::string& graph) {
  return read(graph).workload.operations.at(0);
}

/// 0, 1, 2, ..
std::vector<float> counting(int size) {
  std::vector<float> values;
  for (int i = 0; i < size; ++i) {
    values.push_back(static_cast<float>(i));
  }
  return values;
}

using Row = std::vector<float>;
const std::string kX = sptc::onnx::input("x", kFloat, {5, 4});

TEST(Weight, ARightFactorIsTransposed) {  // w[k=4, n=3]
  const Operation op =
      first_of(kX + weight("w", kFloat, {4, 3}, raw_of(counting(12))) + sptc::onnx::node("MatMul", {"x", "w"}, "y"));
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.shape, (base::GemmShape{3, 5, 4}));
  EXPECT_EQ(op.values->row(0, 1), (Row{1, 4, 7, 10}));
  EXPECT_EQ(op.values->largest(), 11);
  EXPECT_FALSE(op.values->integral());
}

TEST(Weight, AGemmWithTransBIsNot) {
  const Operation op = first_of(kX + weight("w", kFloat, {3, 4}, raw_of(counting(12))) +
                                sptc::onnx::node("Gemm", {"x", "w"}, "y", sptc::onnx::integer("transB", 1)));
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.values->row(0, 1), (Row{4, 5, 6, 7}));
}

TEST(Weight, ALeftFactorIsAsItStands) {
  const Operation op =
      first_of(sptc::onnx::input("x", kFloat, {4, 5}) + weight("w", kFloat, {3, 4}, raw_of(counting(12))) +
               sptc::onnx::node("MatMul", {"w", "x"}, "y"));
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.values->row(0, 2), (Row{8, 9, 10, 11}));
}

TEST(Weight, TransposesAndQuantizedWeightsAreFollowed) {
  const std::vector<std::int8_t> values{1, -2, 3, -4, 5, -6, 7, -8};  // [n=2, k=4]
  const Operation op = first_of(
      kX + weight("q", kInt8, {2, 4}, raw_of(values)) + weight("s", kFloat, {}, raw_of(std::vector<float>{0.5F})) +
      sptc::onnx::node("DequantizeLinear", {"q", "s"}, "w") + sptc::onnx::node("Transpose", {"w"}, "wt") +
      sptc::onnx::node("MatMul", {"x", "wt"}, "y"));
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.values->row(0, 1), (Row{5, -6, 7, -8}));
  EXPECT_TRUE(op.values->integral());
}

std::string bytes_of(const std::string& name, std::int64_t type, std::initializer_list<std::int64_t> dims,
                     const std::vector<std::uint8_t>& values) {
  return weight(name, type, dims, raw_of(values));
}

/// Of [n=2, k=4] elements of eight bits, dequantized with these zero points along axis 0.
std::shared_ptr<const WeightValues> dequantized(std::int64_t type, const std::string& zero,
                                                const std::string& name = "z") {
  return first_of(kX + bytes_of("q", type, {2, 4}, {128, 130, 128, 0, 7, 7, 255, 9}) + zero +
                  weight("s", kFloat, {2}, raw_of(std::vector<float>{0.5F, 2})) +
                  sptc::onnx::node("DequantizeLinear", {"q", "s", name}, "w", sptc::onnx::integer("axis", 0)) +
                  sptc::onnx::node("Gemm", {"x", "w"}, "y", sptc::onnx::integer("transB", 1)))
      .values;
}

TEST(Weight, ZeroPointsAreTakenFromQuantizedWeights) {
  const auto rows = dequantized(kUint8, bytes_of("z", kUint8, {2}, {128, 7}));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->row(0, 0), (Row{0, 2, 0, -128}));
  EXPECT_EQ(rows->row(0, 1), (Row{0, 0, 248, 2}));
  EXPECT_EQ(rows->largest(), 248);
  EXPECT_TRUE(rows->integral());
  // One zero point of all, as TensorProto.int32_data.
  const auto one =
      dequantized(kUint8, sptc::onnx::bytes(5, sptc::onnx::tensor("z", kUint8, {}, sptc::onnx::number(5, 9))));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->row(0, 1), (Row{-2, -2, 246, 0}));
  const auto none = dequantized(kUint8, "", "");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->row(0, 0), (Row{128, 130, 128, 0}));
  const auto signed_one = dequantized(kInt8, bytes_of("z", kInt8, {}, {255}));
  ASSERT_TRUE(signed_one);
  EXPECT_EQ(signed_one->row(0, 1), (Row{8, 8, 0, 10}));
}

TEST(Weight, ZeroPointsThatAreNotKnownLeaveNoValues) {
  EXPECT_FALSE(dequantized(kUint8, bytes_of("z", kUint8, {3}, {1, 2, 3}))) << "three of two rows";
  EXPECT_FALSE(dequantized(kUint8, sptc::onnx::input("z", kUint8, {}))) << "an input of the model";
}

TEST(Weight, OperatorsOfIntegersSayTheirZeroPoints) {
  const std::string inputs = sptc::onnx::input("a", kUint8, {5, 2}) + bytes_of("w", kUint8, {2, 2}, {1, 2, 3, 4}) +
                             bytes_of("z", kUint8, {2}, {1, 2}) + bytes_of("o", kUint8, {}, {1}) +
                             weight("s", kFloat, {}, raw_of(std::vector<float>{1}));
  const Operation integer = first_of(inputs + sptc::onnx::node("MatMulInteger", {"a", "w", "o", "z"}, "y"));
  ASSERT_TRUE(integer.values);
  EXPECT_EQ(integer.values->row(0, 1), (Row{0, 2})) << "column 1 of [[1, 2], [3, 4]] less 2";
  const Operation linear =
      first_of(inputs + sptc::onnx::node("QLinearMatMul", {"a", "s", "o", "w", "s", "z", "s", "o"}, "y"));
  ASSERT_TRUE(linear.values);
  EXPECT_EQ(linear.values->row(0, 0), (Row{0, 2}));
  const Operation filters =
      first_of(sptc::onnx::input("c", kUint8, {1, 2, 3, 3}) + bytes_of("w", kUint8, {2, 2, 1, 1}, {1, 2, 3, 4}) +
               bytes_of("z", kUint8, {2}, {1, 4}) + bytes_of("o", kUint8, {}, {1}) +
               sptc::onnx::node("ConvInteger", {"c", "w", "o", "z"}, "y"));
  ASSERT_TRUE(filters.values);
  EXPECT_EQ(filters.values->row(0, 1), (Row{-1, 0}));
}

TEST(Weight, FiltersAreOrderedByTapThenChannel) {  // [k=4, c=2, r=1, s=2], two groups
  const Operation op =
      first_of(sptc::onnx::input("x", kFloat16, {1, 4, 3, 3}) +
               weight("w", kFloat16, {4, 2, 1, 2},
                      raw_of(std::vector<std::uint16_t>{0x3C00, 0x4000, 0x4200, 0x4400,  // 1 2 3 4
                                                        0, 0, 0, 0, 0x4500, 0, 0, 0, 0, 0, 0, 0xC000})) +
               sptc::onnx::node("Conv", {"x", "w"}, "y", sptc::onnx::integer("group", 2)));
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.batch, 2);
  EXPECT_EQ(op.values->row(0, 0), (Row{1, 3, 2, 4}));
  EXPECT_EQ(op.values->row(1, 0), (Row{5, 0, 0, 0}));
  EXPECT_EQ(op.values->row(1, 1), (Row{0, 0, 0, -2}));
}

TEST(Weight, WhatTheFileDoesNotHoldHasNoValues) {
  const std::string matmul = sptc::onnx::node("MatMul", {"x", "w"}, "y");
  EXPECT_FALSE(first_of(kX + sptc::onnx::weight("w", kFloat, {4, 3}) + matmul).values);
  EXPECT_FALSE(first_of(kX + weight("w", kFloat, {4, 3}, raw_of(counting(11))) + matmul).values)
      << "an element is missing";
  EXPECT_FALSE(first_of(kX + weight("v", kFloat, {3, 4}, raw_of(counting(12))) + sptc::onnx::shape("s", {4, 3}) +
                        sptc::onnx::node("Reshape", {"v", "s"}, "w") + matmul)
                   .values)
      << "arranged anew";
}

std::string sixteen_rows(const Row& pattern) {
  Row values;
  for (int i = 0; i < 16 * 16 / 4; ++i) {
    values.insert(values.end(), pattern.begin(), pattern.end());
  }
  return sptc::onnx::input("x", kFloat16, {5, 16}) + weight("w", kFloat, {16, 16}, raw_of(values)) +
         sptc::onnx::node("Gemm", {"x", "w"}, "y", sptc::onnx::integer("transB", 1));
}

bool has_note(const Recording& recording, const std::string& part) {
  for (const std::string& note : recording.account.notes) {
    if (note.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Weight, WhatIsTwoOfFourAlreadyIsSaid) {
  const Recording sparse = read(sixteen_rows({0, 1, 2, 0}));
  EXPECT_TRUE(is_two_of_four(sparse.workload.operations.at(0)));
  EXPECT_TRUE(has_note(sparse, "values of A are the weights of the model in 1 of 1 operations"));
  EXPECT_TRUE(has_note(sparse, "2:4 already: 1 of them, the first 'y'"));
  const Recording dense = read(sixteen_rows({0, 1, 2, 3}));
  EXPECT_FALSE(is_two_of_four(dense.workload.operations.at(0)));
  EXPECT_FALSE(has_note(dense, "2:4 already"));
}

/// A product of x, quantised and back where `quantised`, with w, which nodes quantise and back.
std::string quantised_product(const std::string& w, bool quantised) {
  const std::string scale =
      weight("s", kFloat, {1}, raw_of(Row{0.5F})) + weight("z", kInt8, {1}, raw_of(std::vector<signed char>{3}));
  const auto through = [](const std::string& name) {
    return sptc::onnx::node("QuantizeLinear", {name, "s", "z"}, name + "q") +
           sptc::onnx::node("DequantizeLinear", {name + "q", "s", "z"}, name + "d");
  };
  return sptc::onnx::input("x", kFloat16, {5, 16}) + w + scale + (quantised ? through("x") : "") + through("w") +
         sptc::onnx::node("Gemm", {quantised ? "xd" : "x", "wd"}, "y", sptc::onnx::integer("transB", 1));
}

TEST(Weight, AFloatWeightThatNodesQuantiseIsThatOfTheFoldedForm) {
  Row values;
  for (int i = 0; i < 64; ++i) {
    values.insert(values.end(), {0, 1, 2, 0});
  }
  const Operation op = first_of(quantised_product(weight("w", kFloat, {16, 16}, raw_of(values)), true));
  EXPECT_EQ(op.shape, (base::GemmShape{16, 5, 16}));
  EXPECT_EQ(op.dtype, numerics::DataType::kS8);
  EXPECT_TRUE(op.weight && op.prunable);
  ASSERT_TRUE(op.values);
  EXPECT_EQ(op.values->row(0, 1), Row(values.begin(), values.begin() + 16));
  EXPECT_TRUE(is_two_of_four(op)) << "a zero point is subtracted from integers alone";
}

TEST(Weight, AQuantisedWeightOfAFloatProductLiesInMemoryAsItIsStored) {
  constexpr std::int64_t kInt4 = 22;
  const Operation nibbles =
      first_of(sptc::onnx::input("x", kFloat16, {5, 32}) + sptc::onnx::weight("w", kInt4, {64, 32}) +
               sptc::onnx::weight("s", kFloat16, {64, 2}) +
               sptc::onnx::node("DequantizeLinear", {"w", "s"}, "d", sptc::onnx::integer("block_size", 16)) +
               sptc::onnx::node("Transpose", {"d"}, "v") + sptc::onnx::node("MatMul", {"x", "v"}, "y"));
  EXPECT_EQ(nibbles.shape, (base::GemmShape{64, 5, 32}));
  EXPECT_EQ(nibbles.dtype, numerics::DataType::kF16);
  EXPECT_EQ(nibbles.storage.weight, numerics::DataType::kS4);
  EXPECT_EQ(nibbles.storage.scale_block, 16);
}

TEST(Weight, WhatIsTwoOfFourAlreadyIsPrunedWhateverTheRuleOfAspSays) {
  const auto four_rows = [](const Row& values) {
    Row all;
    for (int i = 0; i < 4; ++i) {
      all.insert(all.end(), values.begin(), values.end());
    }
    return first_of(kX + weight("w", kFloat, {4, 4}, raw_of(all)) +
                    sptc::onnx::node("Gemm", {"x", "w"}, "y", sptc::onnx::integer("transB", 1)));
  };
  EXPECT_TRUE(four_rows({1, 0, 0, 2}).prunable);
  EXPECT_FALSE(four_rows({1, 3, 0, 2}).prunable);
}

}  // namespace
}  // namespace sptc::workload::onnx
