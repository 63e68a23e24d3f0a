// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sptc::batched {

// f16 accumulators live as floats while a GEMM runs.

/// An f16 word as f32 word, exactly; NaN stays NaN.
inline std::uint32_t widen_half(std::uint32_t word) {
  const std::uint32_t sign = (word & 0x8000U) << 16;
  const std::uint32_t magnitude = word & 0x7FFFU;
  if (magnitude >= 0x7C00U) {
    return sign | 0x7F800000U | (magnitude & 0x3FFU) << 13;
  }
  if (magnitude < 0x400U) {
    const int shift = std::countl_zero(magnitude | 1U) - 21;  // to the leading bit of f16
    return magnitude == 0
               ? sign
               : sign | ((113U - static_cast<std::uint32_t>(shift)) << 23 | (magnitude << shift & 0x3FFU) << 13);
  }
  return sign | ((magnitude << 13) + (112U << 23));
}

/// An f32 word to f16: round to nearest even, overflow to infinity, NaN to the canonical NaN.
/// Integer arithmetic only: independent of the rounding mode.
inline std::uint32_t narrow_half(std::uint32_t word) {
  const std::uint32_t sign = word >> 16 & 0x8000U;
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return 0x7FFFU;
  }
  const std::uint32_t field = magnitude >> 23;
  // Bits below the last place of f16; a float this far below 2^-24 rounds to zero.
  const std::uint32_t dropped = field >= 113 ? 13 : std::min(126U - field, 31U);
  std::uint32_t significand = field >= 113 ? magnitude - (112U << 23) : (magnitude & 0x7FFFFFU) | 0x800000U;
  if (field == 0) {
    return sign;
  }
  const std::uint32_t half = 1U << (dropped - 1);
  const std::uint32_t remainder = significand & (2 * half - 1);
  significand >>= dropped;
  significand += remainder > half || (remainder == half && (significand & 1U) != 0) ? 1U : 0U;
  return sign | std::min(significand, 0x7C00U);
}

}  // namespace sptc::batched
