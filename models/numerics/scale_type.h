// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sptc::numerics {

/// Formats of block scales, bytes without a sign.
enum class ScaleType {
  kUe8m0,  ///< a power of two
  kUe4m3,  ///< e4m3 whose sign bit is ignored
};

/// PTX name: ue8m0, ue4m3.
constexpr std::string_view name(ScaleType type) {
  return type == ScaleType::kUe8m0 ? "ue8m0" : "ue4m3";
}

constexpr int mantissa_bits(ScaleType type) {
  return type == ScaleType::kUe8m0 ? 0 : 3;
}

}  // namespace sptc::numerics
