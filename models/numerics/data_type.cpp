// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"

#include "models/base/text.h"
#include "models/numerics/data_type_info.h"

#include <array>
#include <string>

namespace sptc::numerics {
namespace {

/// f64 does not fit a Word: only mma::f64_dot reads it.
constexpr std::array<DataTypeInfo, 16> kDataTypes{{
    {DataType::kF16, "f16", 16, kF16Format},
    {DataType::kBf16, "bf16", 16, FloatFormat{8, 7}},
    {DataType::kTf32, "tf32", 32, kTf32Format},
    {DataType::kF32, "f32", 32, kF32Format},
    {DataType::kS8, "s8", 8, std::nullopt},
    {DataType::kS32, "s32", 32, std::nullopt},
    {DataType::kF64, "f64", 64, FloatFormat{11, 52}},
    {DataType::kE4m3, "e4m3", 8, FloatFormat{4, 3, SpecialEncoding::kNanOnly}},
    {DataType::kE5m2, "e5m2", 8, FloatFormat{5, 2}},
    {DataType::kE3m2, "e3m2", 6, FloatFormat{3, 2, SpecialEncoding::kNone}},
    {DataType::kE2m3, "e2m3", 6, FloatFormat{2, 3, SpecialEncoding::kNone}},
    {DataType::kE2m1, "e2m1", 4, FloatFormat{2, 1, SpecialEncoding::kNone}},
    {DataType::kU8, "u8", 8, std::nullopt, false},
    {DataType::kS4, "s4", 4, std::nullopt},
    {DataType::kU4, "u4", 4, std::nullopt, false},
    {DataType::kB1, "b1", 1, std::nullopt, false},
}};

/// Names of other programs, in small letters, between blanks.
struct OtherNames {
  DataType type;
  std::string_view names;
};
constexpr std::array kOtherNames{
    OtherNames{DataType::kE4m3, " fp8 f8 float8 fp8_e4m3 fp8e4m3 f8e4m3 f8_e4m3 float8_e4m3 float8_e4m3fn "},
    OtherNames{DataType::kE5m2, " fp8_e5m2 fp8e5m2 f8e5m2 f8_e5m2 float8_e5m2 "},
    OtherNames{DataType::kE2m1, " fp4 f4 float4 float4_e2m1 float4_e2m1fn "},
    OtherNames{DataType::kF16, " fp16 half float16 "},
    OtherNames{DataType::kBf16, " bfloat16 "},
    OtherNames{DataType::kS8, " int8 i8 "},
    OtherNames{DataType::kS4, " int4 i4 "},
    OtherNames{DataType::kU8, " uint8 "},
    OtherNames{DataType::kS32, " int32 i32 "},
    OtherNames{DataType::kF32, " fp32 float32 float single "},
    OtherNames{DataType::kF64, " fp64 float64 double "},
};

}  // namespace

const DataTypeInfo& info(DataType type) {
  return kDataTypes[static_cast<std::size_t>(type)];
}

std::string_view name(DataType type) {
  return info(type).name;
}

int storage_bits(DataType type) {
  return info(type).storage_bits;
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (const DataTypeInfo& row : kDataTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::optional<DataType> parse_usual_type(std::string_view name) {
  const std::string lower = base::lower_case(name);
  if (lower.find(' ') != std::string::npos) {
    return std::nullopt;
  }
  for (const OtherNames& row : kOtherNames) {
    if (row.names.find(" " + lower + " ") != std::string_view::npos) {
      return row.type;
    }
  }
  return parse_data_type(lower);
}

std::vector<std::string_view> operand_type_names() {
  std::vector<std::string_view> names;
  for (const DataTypeInfo& row : kDataTypes) {
    if (is_operand_type(row.type)) {
      names.push_back(row.name);
    }
  }
  return names;
}

DataType accumulator_type(DataType operand) {
  if (operand == DataType::kF64) {
    return DataType::kF64;
  }
  return info(operand).is_float() ? DataType::kF32 : DataType::kS32;
}

}  // namespace sptc::numerics
