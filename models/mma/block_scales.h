// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/scale_type.h"

#include <array>
#include <string_view>

namespace sptc::mma {

/// What PTX calls the groups of types that have block scales.
enum class ScaledKind {
  kMxf8f6f4,  ///< floats of 8, 6 and 4 bits
  kMxf4,      ///< e2m1
  kMxf4nvf4,  ///< e2m1
};

/// "mxf8f6f4", "mxf4", "mxf4nvf4".
constexpr std::string_view name(ScaledKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"mxf8f6f4", "mxf4", "mxf4nvf4"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// The scales of an instruction: every `block` elements of a row of A as stored, and the elements
/// of B that they meet, have one each.
struct BlockScales {
  ScaledKind kind = ScaledKind::kMxf8f6f4;
  numerics::ScaleType type = numerics::ScaleType::kUe8m0;
  int block = 32;

  bool operator==(const BlockScales&) const = default;
};

/// All that PTX has. The second and the third are the same under two names.
inline constexpr BlockScales kMxf8f6f4Scales{ScaledKind::kMxf8f6f4, numerics::ScaleType::kUe8m0, 32};
inline constexpr BlockScales kMxf4Scales{ScaledKind::kMxf4, numerics::ScaleType::kUe8m0, 32};
inline constexpr std::array kMxf4nvf4Scales{BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe8m0, 32},
                                            BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe8m0, 16},
                                            BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe4m3, 16}};
/// Those of nvfp4.
inline constexpr BlockScales kNvf4Scales = kMxf4nvf4Scales.back();

}  // namespace sptc::mma
