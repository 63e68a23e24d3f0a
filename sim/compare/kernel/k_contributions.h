// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace sptc::compare::kernel {

/// How often each k-tile of `tile` units enters the sums of a region: 1 as it should, 0 where it is
/// missing, 2 where it is there twice. From the wrong elements, each of which is a linear equation,
/// by least squares. Nothing where they tell too little, or the solution is not of whole numbers.
std::optional<std::vector<int>> k_contributions(const RegionTrial& trial, std::size_t tile);

}  // namespace sptc::compare::kernel
