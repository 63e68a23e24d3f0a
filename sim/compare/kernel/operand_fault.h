// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <optional>

namespace sptc::compare::kernel {

/// How fragments come from shared memory: 8 x 8 blocks of A or B that are transposed, or 16-byte
/// chunks that a swizzle moved and nobody moved back.
std::optional<RegionFault> find_fragment_fault(const RegionTrial& trial);
/// In one k-tile lines of A, or of B, are other lines.
std::optional<RegionFault> find_moved_lines_of_a_tile(const RegionTrial& trial);

/// Accumulators of the region that begin with what another tile of D left in them.
std::optional<RegionFault> find_uncleared_accumulator(const RegionTrial& trial);

/// Columns of B that are others', where C or a bias keeps whole columns of D from being equal.
std::optional<RegionFault> find_moved_columns_of_b(const RegionTrial& trial);

}  // namespace sptc::compare::kernel
