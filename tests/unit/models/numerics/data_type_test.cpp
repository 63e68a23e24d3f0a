// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"

#include "models/numerics/data_type_info.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sptc::numerics {
namespace {

constexpr DataType kAll[] = {DataType::kF16,  DataType::kBf16, DataType::kTf32, DataType::kF32,
                             DataType::kS8,   DataType::kS32,  DataType::kF64,  DataType::kE4m3,
                             DataType::kE5m2, DataType::kE3m2, DataType::kE2m3, DataType::kE2m1,
                             DataType::kU8,   DataType::kS4,   DataType::kU4,   DataType::kB1};

TEST(DataTypeTable, HasARowForEveryTypeInItsPlace) {
  for (const DataType type : kAll) {
    EXPECT_EQ(info(type).type, type);
    EXPECT_EQ(parse_data_type(name(type)), type);
  }
}

TEST(DataTypeTable, FormatsFillTheStorage) {
  for (const DataType type : kAll) {
    if (info(type).is_float()) {
      EXPECT_EQ(info(type).format->storage_bits(), storage_bits(type)) << name(type);
    }
  }
  EXPECT_EQ(storage_bits(DataType::kS8), 8);
  EXPECT_EQ(storage_bits(DataType::kTf32), 32);
}

TEST(DataTypeTable, RefusesUnknownNames) {
  EXPECT_FALSE(parse_data_type("fp16"));
  EXPECT_FALSE(parse_data_type("F16"));
  EXPECT_FALSE(parse_data_type(""));
}

TEST(DataTypeTable, KnowsTheNamesOfOtherPrograms) {
  for (const auto& [type, names] : {std::pair{DataType::kF16, std::vector{"f16", "F16", "fp16", "half", "float16"}},
                                    {DataType::kBf16, {"bfloat16", "BF16"}},
                                    {DataType::kE4m3, {"fp8", "float8_e4m3fn", "F8_E4M3", "fp8_e4m3"}},
                                    {DataType::kE5m2, {"float8_e5m2", "F8_E5M2"}},
                                    {DataType::kE2m1, {"fp4", "float4_e2m1fn"}},
                                    {DataType::kS8, {"int8", "I8"}},
                                    {DataType::kS4, {"int4"}},
                                    {DataType::kF32, {"float32", "float", "fp32"}},
                                    {DataType::kS32, {"int32"}}}) {
    for (const char* const other : names) {
      EXPECT_EQ(parse_usual_type(other), type) << other;
    }
  }
  EXPECT_FALSE(parse_usual_type("fp17"));
  EXPECT_FALSE(parse_usual_type(""));
}

TEST(DataTypeTable, AccumulatorsAreNoOperands) {
  EXPECT_FALSE(is_operand_type(DataType::kF32));
  EXPECT_FALSE(is_operand_type(DataType::kS32));
  EXPECT_EQ(operand_type_names(), (std::vector<std::string_view>{"f16", "bf16", "tf32", "s8", "f64", "e4m3", "e5m2",
                                                                 "e3m2", "e2m3", "e2m1", "u8", "s4", "u4", "b1"}));
}

TEST(DataTypeTable, AccumulatesFloatsInF32AndIntegersInS32) {
  EXPECT_EQ(accumulator_type(DataType::kF16), DataType::kF32);
  EXPECT_EQ(accumulator_type(DataType::kTf32), DataType::kF32);
  EXPECT_EQ(accumulator_type(DataType::kS8), DataType::kS32);
  EXPECT_EQ(accumulator_type(DataType::kU4), DataType::kS32);
  EXPECT_EQ(accumulator_type(DataType::kF64), DataType::kF64);
}

}  // namespace
}  // namespace sptc::numerics
