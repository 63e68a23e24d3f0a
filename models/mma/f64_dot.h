// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace sptc::mma {

/// One element of D of an f64 mma: a chain of IEEE fused multiply-adds in increasing k, each
/// rounded to nearest even (PTX ISA, mma .f64; MMA-Sim). `a_row` and `b_column` have the same
/// length; all are binary64 bits. A NaN is what the words of H100 and H200 say: the first one of B,
/// the sum and A, made quiet; 0xFFF8000000000000 where none of the three is one.
std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column,
                      std::uint64_t c);

}  // namespace sptc::mma
