// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <cstdint>

namespace sptc::numerics {

struct FloatFormat;

/// A float taken apart. Finite values are (-1)^negative * significand * 2^(exponent -
/// mantissa_bits); a subnormal keeps the exponent of its format and a significand below
/// 2^mantissa_bits: it is not renormalised (spec "decode").
struct Unpacked {
  enum class Class { kFinite, kInfinity, kNan };
  Class kind = Class::kFinite;
  bool negative = false;
  int exponent = 0;
  std::uint32_t significand = 0;

  bool is_zero() const { return kind == Class::kFinite && significand == 0; }
};

Unpacked unpack(Word bits, const FloatFormat& format);

/// The canonical NaN of a tensor core: sign 0, all other bits one (0x7FFFFFFF, 0x7FFF). A format
/// without NaN has its largest number there.
Word canonical_nan(const FloatFormat& format);
/// What overflow becomes: infinity; in a format without one its NaN (e4m3), or else its largest
/// number.
Word infinity(const FloatFormat& format, bool negative);

/// A block scale taken apart, with mantissa_bits(type): NaN (0xFF of ue8m0, 0x7F and 0xFF of ue4m3)
/// or a finite number without a sign.
Unpacked unpack_scale(Word bits, ScaleType type);

/// The value of an integer element; bits above its storage are ignored.
std::int64_t to_integer(Word bits, DataType type);

/// The exact value of an element (every format here fits a double). NaN and infinity map to
/// themselves.
double to_double(Word bits, DataType type);

/// The nearest element: ties to even, of tf32 away from zero; overflow to infinity, integers
/// saturate (models/README.md). Bits below tf32's mantissa are zero. NaN: the canonical NaN; 0 for
/// integers.
Word from_double(double value, DataType type);
/// The number of `type` that stands for `value`.
inline double rounded(double value, DataType type) {
  return to_double(from_double(value, type), type);
}

}  // namespace sptc::numerics
