// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::batched {

// The window of exponents in which float lanes are exact. Operands inside [kMinOperandExponent,
// kMaxOperandExponent] have products in [2^-76, 2^98), which a float holds exactly, and sums of
// thousands of them stay below 2^127. With at most kMaxFractionBits bits below the largest
// exponent, no non-zero sum of products is below 2^-101, so an accumulator that starts in [2^-101,
// 2^101) stays in it, and both 2^(F - emax) and its inverse are normal floats. f16 and the 8-bit
// formats are inside for every finite operand.

inline constexpr int kMinOperandExponent = -38;
inline constexpr int kMaxOperandExponent = 48;
inline constexpr int kMaxFractionBits = 25;

/// Exponent fields of a float accumulator that is zero or inside the window.
inline constexpr std::uint32_t kMinAccumulatorField = 26;   // 2^-101
inline constexpr std::uint32_t kMaxAccumulatorField = 227;  // below 2^101

// Exponents of operands as bytes, ea + kByteOffset and kByteOffset - 127 - eb, so that one
// saturating subtraction gives the exponent field of a product, ea + eb + 127, and 0 where either
// operand is zero.
inline constexpr int kByteOffset = 190;
inline constexpr std::uint8_t kRowZeroByte = 0;
inline constexpr std::uint8_t kColumnZeroByte = 255;

}  // namespace sptc::batched
