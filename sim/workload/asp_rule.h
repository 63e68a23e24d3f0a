// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload {

/// Whether NVIDIA's ASP would prune A of `op`, were it a weight: of a convolution by the channels
/// of a group (workload_text.h).
bool asp_eligible(const Operation& op);

}  // namespace sptc::workload
