// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sptc::numerics {

/// Raw storage bits of one element, in the low bits: 16 for f16 and bf16, 32 for tf32, f32 and s32,
/// 8 for the 8-bit types, and so on. f64 does not fit: it has functions of its own
/// (mma::f64_dot).
using Word = std::uint32_t;

/// Element types of tensor core operands and results, by their PTX names.
enum class DataType {
  kF16,
  kBf16,
  kTf32,
  kF32,
  kS8,
  kS32,
  kF64,
  kE4m3,
  kE5m2,
  kE3m2,
  kE2m3,
  kE2m1,
  kU8,
  kS4,
  kU4,
  kB1,
};

/// PTX name: f16, e4m3, s8, ...
std::string_view name(DataType type);
int storage_bits(DataType type);
inline bool is_fp8(DataType type) {
  return type == DataType::kE4m3 || type == DataType::kE5m2;
}

/// The type called `name`, or nothing.
std::optional<DataType> parse_data_type(std::string_view name);

/// The type of that name in any case, also as other programs call it: fp16, half, float16,
/// bfloat16, float8_e4m3fn, fp8 (e4m3), fp4 (e2m1), int8, float32, ...
std::optional<DataType> parse_usual_type(std::string_view name);

/// Types that A and B of a matrix instruction may have.
std::vector<std::string_view> operand_type_names();

/// Whether `type` can be an A or B operand (f32 and s32 are accumulators only).
constexpr bool is_operand_type(DataType type) {
  return type != DataType::kF32 && type != DataType::kS32;
}

/// The accumulator that a GEMM over `operand` uses by default: f32 for floating point, f64 for f64,
/// s32 for integers.
DataType accumulator_type(DataType operand);

/// Formats of block scales, bytes without a sign.
enum class ScaleType {
  kUe8m0,  ///< a power of two
  kUe4m3,  ///< e4m3 whose sign bit is ignored
};

/// PTX name: ue8m0, ue4m3.
constexpr std::string_view name(ScaleType type) {
  return type == ScaleType::kUe8m0 ? "ue8m0" : "ue4m3";
}

constexpr int mantissa_bits(ScaleType type) {
  return type == ScaleType::kUe8m0 ? 0 : 3;
}

}  // namespace sptc::numerics
