// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::numerics {

/// Raw storage bits of one element, in the low bits: 16 for f16 and bf16, 32 for tf32, f32 and s32,
/// 8 for the 8-bit types, and so on. f64 does not fit: it has functions of its own
/// (mma::f64_dot).
using Word = std::uint32_t;

}  // namespace sptc::numerics
