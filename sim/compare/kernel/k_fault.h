// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <optional>

namespace sptc::compare::kernel {

/// A part of K that the region lacks or has twice, or k-tiles of A or B that meet the wrong ones:
/// stale, exchanged, shifted.
std::optional<RegionFault> find_k_fault(const RegionTrial& trial);

/// K-tiles that are summed in another order, with the right ones of A and B together.
std::optional<RegionFault> find_k_order(const RegionTrial& trial);

}  // namespace sptc::compare::kernel
