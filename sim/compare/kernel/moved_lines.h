// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {

/// Line `first` has what belongs to line `second`.
using LineMap = std::vector<std::pair<std::size_t, std::size_t>>;

/// Whether the lines of `map` exchange places among each other.
bool is_permutation(const LineMap& map);
/// "rows 3 and 11 are exchanged", "rows 64 to 127 hold rows 0 to 63", "row i holds row i ^ 8 ...";
/// `unit`: "row", "column".
std::string describe_moved(const LineMap& map, std::string_view unit);

/// The region holds one value: zero, or another word that nothing computes.
std::optional<RegionFault> find_constant(const RegionTrial& trial);
/// Rows, columns or a tile of the region stand elsewhere in the computed D; or it is transposed.
std::optional<RegionFault> find_moved(const RegionTrial& trial);
/// The region is the computed one times a constant, or each of its rows or columns is.
std::optional<RegionFault> find_factor(const RegionTrial& trial);

}  // namespace sptc::compare::kernel
