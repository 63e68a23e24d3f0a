// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "models/base/shape.h"

#include <cmath>
#include <cstdint>
#include <string>

// Words and rows of the memories of Sparseloop's case study, for stc_design.cpp and dual_side.cpp.
namespace sptc::energy {

inline constexpr std::int64_t kMaxExtent = 1 << 20;     // three of them stay below 2^63
inline constexpr double kWordsPerSharedMemoryRow = 64;  // 512 bits
inline constexpr double kWordsPerDramRow = 8;           // 64 bits
inline constexpr double kMetadataRowBits = 64;
inline constexpr double kWordBits = 8;

inline void check_extents(const base::GemmShape& shape) {
  for (const std::int64_t extent : {shape.m, shape.n, shape.k}) {
    if (extent < 1 || extent > kMaxExtent) {
      throw base::InputError("M, N and K must be from 1 to " + std::to_string(kMaxExtent) +
                             ", not " + std::to_string(extent));
    }
  }
}

inline std::int64_t cycles_for(double words, double words_per_cycle) {
  return static_cast<std::int64_t>(std::ceil(words / words_per_cycle));
}

}  // namespace sptc::energy
