// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload {

/// Whether NVIDIA's ASP would prune A of `op`, were it a weight: filters a multiple of 8, channels,
/// of a convolution those of a group, of 16 (apex/contrib/sparsity/asp.py).
bool asp_eligible(const Operation& op);

}  // namespace sptc::workload
