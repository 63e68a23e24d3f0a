// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep::analysis {

/// Whether more of a total is better (speedup, tflops, accuracy), as its name says.
bool more_is_better(std::string_view total);

/// The totals of a trade-off: time, then energy and area where the results have them, else
/// accuracy; of the sparse variant where it was simulated, else of the dense one.
std::vector<std::string> objectives_among(std::span<const std::string> totals);

}  // namespace sptc::sweep::analysis
