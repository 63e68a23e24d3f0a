// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <optional>

namespace sptc::compare::kernel {

/// Of a sparse instruction: rows of metadata or of values that meet the wrong ones, words of
/// metadata that are exchanged or late, the other order of PyTorch's encoders.
std::optional<RegionFault> find_metadata_fault(const RegionTrial& trial);

/// Rows of A that are others', where C or a bias keeps whole rows of D from being equal.
std::optional<RegionFault> find_moved_operand(const RegionTrial& trial);

}  // namespace sptc::compare::kernel
