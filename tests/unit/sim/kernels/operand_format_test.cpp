// SPDX-License-Identifier: Apache-2.0

#include "sim/kernels/operand_storage.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace sptc::kernels {
namespace {

using numerics::DataType;

TEST(OperandFormat, KnowsTheNamesOfOtherProgramsInAnyCase) {
  const std::pair<std::string_view, OperandFormat> kExpected[] = {
      {"nvfp4", {DataType::kE2m1, 16}}, {"NVFP4", {DataType::kE2m1, 16}},  {"fp4", {DataType::kE2m1, 16}},
      {"mxfp4", {DataType::kE2m1, 32}}, {"mxfp8", {DataType::kE4m3, 32}},  {"MXFP8_E5M2", {DataType::kE5m2, 32}},
      {"fp8", {DataType::kE4m3, 0}},    {"fp16", {DataType::kF16, 0}},     {"int8", {DataType::kS8, 0}},
      {"e2m1", {DataType::kE2m1, 0}},   {"bfloat16", {DataType::kBf16, 0}}};
  for (const auto& [name, format] : kExpected) {
    EXPECT_EQ(parse_operand_format(name), format) << name;
  }
  for (const std::string_view name : {"", "nvfp8", "mx", "nvfp4 "}) {
    EXPECT_FALSE(parse_operand_format(name)) << name;
  }
}

TEST(OperandFormat, NamesItselfAsItIsRead) {
  for (const std::string_view word : block_format_names()) {
    EXPECT_EQ(name(*parse_operand_format(word)), word);
  }
  EXPECT_EQ(name(*parse_operand_format("fp4")), "nvfp4");
  EXPECT_EQ(name(*parse_operand_format("fp16")), "f16");
  EXPECT_EQ(name({DataType::kE2m1, 64}), "e2m1");
}

TEST(OperandFormat, KnowsWeightsThatAloneAreQuantised) {
  for (const std::string_view word : weight_format_names()) {
    const OperandFormat format = *parse_weight_format(word);
    EXPECT_EQ(name(format), word);
    EXPECT_STREQ(impossible_storage({format.weight, format.scale_block}, format.type), "") << word;
    EXPECT_FALSE(parse_operand_format(word)) << word << " needs a reader that keeps its weights";
  }
  EXPECT_EQ(parse_weight_format("W4A16"), (OperandFormat{DataType::kBf16, 128, DataType::kS4}));
  EXPECT_FALSE(parse_weight_format("nvfp4"));
  EXPECT_EQ(name({DataType::kF16, 128, DataType::kS4}), "f16");
}

TEST(OperandFormat, IsAPossibleStorageOfItsType) {
  for (const std::string_view word : block_format_names()) {
    const OperandFormat format = *parse_operand_format(word);
    EXPECT_TRUE(is_block_format(format));
    EXPECT_STREQ(impossible_storage({std::nullopt, format.scale_block}, format.type), "") << word;
  }
  EXPECT_FALSE(is_block_format({DataType::kF16, 0}));
  EXPECT_STRNE(impossible_storage({std::nullopt, 64}, DataType::kE2m1), "");
}

}  // namespace
}  // namespace sptc::kernels
