// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sptc::sweep::analysis {

/// The ratio up to which two figures count as equally good: half a percent.
inline constexpr double kTie = 1.005;

/// The values from `first` to `last` that are equally good: "tie: 54, 108" of two, else
/// "tie: 54 to 216".
inline std::string tie_text(const std::string& first, const std::string& last, bool two) {
  return "tie: " + first + (two ? ", " : " to ") + last;
}

}  // namespace sptc::sweep::analysis
