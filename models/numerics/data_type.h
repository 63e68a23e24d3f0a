// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/float_format.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sptc::numerics {

/// Element types of tensor core operands and results, by their PTX names.
enum class DataType { kF16, kBf16, kTf32, kF32, kS8, kS32 };

/// One row of the table of types.
struct DataTypeInfo {
  DataType type;
  std::string_view name;              ///< PTX name: f16, bf16, tf32, f32, s8, s32
  int storage_bits;                   ///< bits of one element in memory
  std::optional<FloatFormat> format;  ///< nothing for integers

  bool is_float() const { return format.has_value(); }
};

const DataTypeInfo& info(DataType type);

inline std::string_view name(DataType type) {
  return info(type).name;
}
inline int storage_bits(DataType type) {
  return info(type).storage_bits;
}

/// The type called `name`, or nothing.
std::optional<DataType> parse_data_type(std::string_view name);

/// Types that A and B of a matrix instruction may have.
std::vector<std::string_view> operand_type_names();

/// Whether `type` can be an A or B operand (f32 and s32 are accumulators only).
bool is_operand_type(DataType type);

/// The accumulator that a GEMM over `operand` uses by default: f32 for floating point, s32 for
/// integers.
DataType accumulator_type(DataType operand);

}  // namespace sptc::numerics
