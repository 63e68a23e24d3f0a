// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"

#include <array>

namespace sptc::numerics {
namespace {

constexpr std::array<DataTypeInfo, 16> kDataTypes{{
    {DataType::kF16, "f16", 16, kF16Format},
    {DataType::kBf16, "bf16", 16, kBf16Format},
    {DataType::kTf32, "tf32", 32, kTf32Format},
    {DataType::kF32, "f32", 32, kF32Format},
    {DataType::kS8, "s8", 8, std::nullopt},
    {DataType::kS32, "s32", 32, std::nullopt},
    {DataType::kF64, "f64", 64, kF64Format},
    {DataType::kE4m3, "e4m3", 8, kE4m3Format},
    {DataType::kE5m2, "e5m2", 8, kE5m2Format},
    {DataType::kE3m2, "e3m2", 6, kE3m2Format},
    {DataType::kE2m3, "e2m3", 6, kE2m3Format},
    {DataType::kE2m1, "e2m1", 4, kE2m1Format},
    {DataType::kU8, "u8", 8, std::nullopt, false},
    {DataType::kS4, "s4", 4, std::nullopt},
    {DataType::kU4, "u4", 4, std::nullopt, false},
    {DataType::kB1, "b1", 1, std::nullopt, false},
}};

}  // namespace

const DataTypeInfo& info(DataType type) {
  return kDataTypes[static_cast<std::size_t>(type)];
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (const DataTypeInfo& row : kDataTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

bool is_operand_type(DataType type) {
  return type != DataType::kF32 && type != DataType::kS32;
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
