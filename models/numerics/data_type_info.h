// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <optional>
#include <string_view>

namespace sptc::numerics {

/// What the all-ones exponent field means.
enum class SpecialEncoding {
  kIeee,     ///< infinities and NaNs (f16, bf16, tf32, f32, e5m2)
  kNanOnly,  ///< one NaN pattern, no infinity (e4m3: OCP FP8, section 5)
  kNone,     ///< ordinary numbers (e2m1, e2m3, e3m2: OCP Microscaling, section 5.3)
};

/// A binary floating-point format as data: sign, exponent field, mantissa field.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  SpecialEncoding special = SpecialEncoding::kIeee;
  int discarded_low_bits = 0;  ///< storage bits below the mantissa that the format ignores (tf32 in f32)

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// Exponent of the subnormal range and of the smallest normal number.
  constexpr int min_exponent() const { return 1 - bias(); }
  constexpr int storage_bits() const { return 1 + exponent_bits + mantissa_bits + discarded_low_bits; }

  constexpr bool operator==(const FloatFormat&) const = default;
};

inline constexpr FloatFormat kF16Format{5, 10};
inline constexpr FloatFormat kTf32Format{8, 10, SpecialEncoding::kIeee, 13};
inline constexpr FloatFormat kF32Format{8, 23};

/// One row of the table of types.
struct DataTypeInfo {
  DataType type;
  std::string_view name;              ///< PTX name: f16, e4m3, s8, ...
  int storage_bits;                   ///< bits of one element
  std::optional<FloatFormat> format;  ///< nothing for integers
  bool is_signed = true;              ///< of integers

  bool is_float() const { return format.has_value(); }
};

const DataTypeInfo& info(DataType type);

}  // namespace sptc::numerics
