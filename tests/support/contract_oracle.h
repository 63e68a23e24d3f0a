// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"

#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sptc::oracle {

// A third, independent statement of the arithmetic of Ampere tensor cores, in exact integers of any
// size. It shares nothing with models/mma and models/numerics but the names of the types, so that
// an error in a table of formats or in the codec cannot hide. Sources: Khattak and Mikaitis, arXiv
// 2512.07004; MMA-Sim, arXiv 2511.10909.

using Integer = boost::multiprecision::cpp_int;

/// Every value is an integer multiple of 2^-kScale: far below the smallest product of two bf16
/// subnormals.
inline constexpr int kScale = 400;

struct Format {
  int exponent_bits, mantissa_bits, unused_low_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int lowest() const { return 1 - bias(); }
};

inline Format format_of(numerics::DataType type) {
  switch (type) {
    case numerics::DataType::kF16:
      return {5, 10, 0};
    case numerics::DataType::kBf16:
      return {8, 7, 0};
    case numerics::DataType::kTf32:
      return {8, 10, 13};
    default:
      return {8, 23, 0};
  }
}

struct Number {
  bool nan = false;
  bool infinite = false;
  bool negative = false;
  int exponent = 0;
  Integer scaled;  ///< value * 2^kScale

  bool zero() const { return !nan && !infinite && scaled == 0; }
};

inline Number decode(std::uint32_t word, const Format& format) {
  const std::uint32_t bits = word >> format.unused_low_bits;
  const std::uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  const std::uint32_t all_ones = (1U << format.exponent_bits) - 1;
  const std::uint32_t field = (bits >> format.mantissa_bits) & all_ones;
  Number number;
  number.negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1) != 0;
  if (field == all_ones) {
    number.nan = mantissa != 0;
    number.infinite = mantissa == 0;
    return number;
  }
  number.exponent = field == 0 ? format.lowest() : static_cast<int>(field) - format.bias();
  const Integer significand = field == 0 ? mantissa : mantissa + (1U << format.mantissa_bits);
  number.scaled = significand << (number.exponent - format.mantissa_bits + kScale);
  if (number.negative) {
    number.scaled = -number.scaled;
  }
  return number;
}

inline std::uint32_t encode(const Integer& scaled, const Format& format, bool nearest_even) {
  const bool negative = scaled < 0;
  const Integer magnitude = negative ? Integer(-scaled) : scaled;
  if (magnitude == 0) {
    return 0;
  }
  int exponent = std::max(static_cast<int>(boost::multiprecision::msb(magnitude)) - kScale, format.lowest());
  const Integer ulp = Integer(1) << (exponent - format.mantissa_bits + kScale);
  Integer quotient = magnitude / ulp;
  const Integer twice_rest = 2 * (magnitude % ulp);
  if (nearest_even && (twice_rest > ulp || (twice_rest == ulp && quotient % 2 == 1))) {
    ++quotient;
  }
  if (quotient == 0) {
    return 0;
  }
  const Integer hidden = Integer(1) << format.mantissa_bits;
  if (quotient == 2 * hidden) {
    quotient /= 2;
    ++exponent;
  }
  const std::uint32_t sign = negative ? 1U << (format.exponent_bits + format.mantissa_bits) : 0U;
  const std::uint32_t all_ones = (1U << format.exponent_bits) - 1;
  if (exponent > format.bias()) {
    return sign | all_ones << format.mantissa_bits;
  }
  if (quotient < hidden) {
    return sign | static_cast<std::uint32_t>(quotient);
  }
  return sign | static_cast<std::uint32_t>(exponent + format.bias()) << format.mantissa_bits |
         static_cast<std::uint32_t>(quotient - hidden);
}

/// Products of one rounding step: 16 bytes of A.
inline std::size_t products_per_step(numerics::DataType type) {
  return type == numerics::DataType::kTf32 ? 4 : type == numerics::DataType::kS8 ? 16 : 8;
}

inline std::uint32_t step(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, std::uint32_t c,
                          const mma::MmaInstruction& instruction) {
  const bool half_output = instruction.accumulator == numerics::DataType::kF16;
  const Format operand = format_of(instruction.a_type);
  const Format output = format_of(instruction.accumulator);
  const std::uint32_t infinity = ((1U << output.exponent_bits) - 1) << output.mantissa_bits;
  const std::uint32_t sign_bit = 1U << (output.exponent_bits + output.mantissa_bits);
  const std::uint32_t nan = sign_bit - 1;

  std::vector<Number> terms{decode(c, output)};
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Number x = decode(a[k], operand);
    const Number y = decode(b[k], operand);
    Number product;
    product.nan = x.nan || y.nan || (x.infinite && y.zero()) || (x.zero() && y.infinite);
    product.infinite = !product.nan && (x.infinite || y.infinite);
    product.negative = x.negative != y.negative;
    product.exponent = x.exponent + y.exponent;
    product.scaled = (x.scaled * y.scaled) >> kScale;  // exact: products are multiples of 2^-272
    terms.push_back(product);
  }
  bool positive = false, negative = false;
  for (const Number& term : terms) {
    if (term.nan) {
      return nan;
    }
    positive |= term.infinite && !term.negative;
    negative |= term.infinite && term.negative;
  }
  if (positive || negative) {
    return positive && negative ? nan : positive ? infinity : infinity | sign_bit;
  }

  std::optional<int> largest;
  for (const Number& term : terms) {
    if (!term.zero()) {
      largest = std::max(largest.value_or(term.exponent), term.exponent);
    }
  }
  if (!largest) {
    return 0;
  }
  largest = std::max(*largest, half_output ? -20 : -132);
  constexpr int kFractionBits = 24;
  const Integer unit = Integer(1) << (*largest - kFractionBits + kScale);
  Integer sum = 0;
  for (const Number& term : terms) {
    sum += term.scaled / unit;  // cpp_int divides toward zero
  }
  return encode(sum * unit, output, half_output);
}

/// One element of D: steps over k, the last one full.
inline std::uint32_t dot(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, std::uint32_t c,
                         const mma::MmaInstruction& instruction) {
  if (instruction.a_type == numerics::DataType::kS8) {
    Integer sum = static_cast<std::int32_t>(c);
    const auto value = [](std::uint32_t word) {
      return word & 0x80U ? static_cast<int>(word & 0xFFU) - 256 : static_cast<int>(word & 0xFFU);
    };
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += value(a[k]) * value(b[k]);
    }
    const Integer modulus = Integer(1) << 32;
    return static_cast<std::uint32_t>(Integer(((sum % modulus) + modulus) % modulus));
  }
  const std::size_t width = products_per_step(instruction.a_type);
  for (std::size_t k = 0; k < a.size(); k += width) {
    const std::size_t count = std::min(width, a.size() - k);
    c = step(a.subspan(k, count), b.subspan(k, count), c, instruction);
  }
  return c;
}

/// Logical k of compressed element `t` of a row, from the nibbles of its groups (PTX ISA, mma.sp:
/// 2:4 with two 2-bit indices; tf32 1:2 with the codes 0100 and 1110).
inline std::size_t logical_k(numerics::DataType type, std::span<const std::uint8_t> nibbles, std::size_t t) {
  if (type == numerics::DataType::kTf32) {
    return 2 * t + (nibbles[t] == 0b1110 ? 1 : 0);
  }
  const unsigned nibble = nibbles[t / 2];
  return 4 * (t / 2) + (t % 2 == 0 ? nibble % 4 : nibble / 4);
}

}  // namespace sptc::oracle
