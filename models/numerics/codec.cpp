// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"

#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sptc::numerics {
namespace {

Word mask(int bits) {
  return static_cast<Word>((std::uint64_t{1} << bits) - 1);
}

Word pack_float(double value, const FloatFormat& format, bool ties_away) {
  if (std::isnan(value)) {
    return canonical_nan(format);
  }
  const bool negative = std::signbit(value);
  if (std::isinf(value)) {
    return infinity(format, negative);
  }
  const Word sign = Word{negative} << (format.exponent_bits + format.mantissa_bits);
  if (value == 0) {
    return sign << format.discarded_low_bits;
  }
  const int exponent = std::max(std::ilogb(value), format.min_exponent());
  // Exact scaling to units in the last place. A carry into the next binade needs no care: the
  // exponent field sits just above the mantissa field.
  const double scaled = std::ldexp(std::fabs(value), format.mantissa_bits - exponent);
  const auto ulps = static_cast<std::uint64_t>(ties_away ? std::round(scaled) : std::nearbyint(scaled));
  const auto field_base = static_cast<std::uint64_t>(exponent - format.min_exponent());
  const std::uint64_t magnitude = (field_base << format.mantissa_bits) + ulps;
  const auto largest = static_cast<std::uint64_t>(infinity(format, false) >> format.discarded_low_bits);
  if (magnitude >= largest) {
    return infinity(format, negative);
  }
  return (sign | static_cast<Word>(magnitude)) << format.discarded_low_bits;
}

/// 2^exponent, a normal double.
double power_of_two(int exponent) {
  constexpr int kDoubleBias = 1023;
  constexpr int kDoubleMantissaBits = 52;
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleMantissaBits);
}

Word pack_integer(double value, const DataTypeInfo& type) {
  if (std::isnan(value)) {
    return 0;
  }
  const double min = type.is_signed ? -std::ldexp(1.0, type.storage_bits - 1) : 0.0;
  const double max = std::ldexp(1.0, type.storage_bits - (type.is_signed ? 1 : 0)) - 1;
  const auto rounded = static_cast<std::int64_t>(std::clamp(std::nearbyint(value), min, max));
  return static_cast<Word>(rounded) & mask(type.storage_bits);
}

}  // namespace

Unpacked unpack(Word bits, const FloatFormat& format) {
  bits >>= format.discarded_low_bits;
  const Word mantissa = bits & mask(format.mantissa_bits);
  const Word field = (bits >> format.mantissa_bits) & mask(format.exponent_bits);
  Unpacked result;
  result.negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1) != 0;
  const bool all_ones = field == mask(format.exponent_bits);
  if (all_ones && format.special == SpecialEncoding::kIeee) {
    result.kind = mantissa == 0 ? Unpacked::Class::kInfinity : Unpacked::Class::kNan;
    return result;
  }
  if (all_ones && format.special == SpecialEncoding::kNanOnly && mantissa == mask(format.mantissa_bits)) {
    result.kind = Unpacked::Class::kNan;
    return result;
  }
  result.significand = field == 0 ? mantissa : mantissa | (Word{1} << format.mantissa_bits);
  result.exponent = field == 0 ? format.min_exponent() : static_cast<int>(field) - format.bias();
  return result;
}

Word canonical_nan(const FloatFormat& format) {
  const int magnitude_bits = format.storage_bits() - 1;
  return mask(magnitude_bits);
}

Word infinity(const FloatFormat& format, bool negative) {
  const Word magnitude = format.special == SpecialEncoding::kIeee ? mask(format.exponent_bits) << format.mantissa_bits
                                                                  : mask(format.exponent_bits + format.mantissa_bits);
  const Word sign = Word{negative} << (format.exponent_bits + format.mantissa_bits);
  return (sign | magnitude) << format.discarded_low_bits;
}

Unpacked unpack_scale(Word bits, ScaleType type) {
  if (type == ScaleType::kUe4m3) {
    Unpacked scale = unpack(bits, *info(DataType::kE4m3).format);
    scale.negative = false;
    return scale;
  }
  constexpr int kBias = 127;
  constexpr Word kNan = 0xFF;
  Unpacked scale;
  if ((bits & kNan) == kNan) {
    scale.kind = Unpacked::Class::kNan;
    return scale;
  }
  scale.significand = 1;
  scale.exponent = static_cast<int>(bits & kNan) - kBias;
  return scale;
}

std::int64_t to_integer(Word bits, DataType type) {
  const DataTypeInfo& row = info(type);
  const std::int64_t value = bits & mask(row.storage_bits);
  const std::int64_t sign = std::int64_t{row.is_signed} << (row.storage_bits - 1);
  return (value ^ sign) - sign;
}

double to_double(Word bits, DataType type) {
  const DataTypeInfo& row = info(type);
  if (!row.is_float()) {
    return static_cast<double>(to_integer(bits, type));
  }
  const Unpacked value = unpack(bits, *row.format);
  const double sign = value.negative ? -1.0 : 1.0;
  switch (value.kind) {
    case Unpacked::Class::kNan:
      return std::numeric_limits<double>::quiet_NaN();
    case Unpacked::Class::kInfinity:
      return sign * std::numeric_limits<double>::infinity();
    case Unpacked::Class::kFinite:
      break;
  }
  return sign * static_cast<double>(value.significand) * power_of_two(value.exponent - row.format->mantissa_bits);
}

Word from_double(double value, DataType type) {
  const DataTypeInfo& row = info(type);
  if (row.is_float()) {
    // cvt.rna.tf32.f32; every other conversion is cvt.rn.
    return pack_float(value, *row.format, type == DataType::kTf32);
  }
  return pack_integer(value, row);
}

}  // namespace sptc::numerics
