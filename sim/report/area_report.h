// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/area_estimate.h"

#include <string>

namespace sptc::report {

/// The parts of one tensor core, what sparsity adds, and the whole GPU: what `energy area` prints.
std::string area_text(const run::AreaEstimate& estimate);
/// One JSON object (schema "sptcsim-area/0.1").
std::string area_json(const run::AreaEstimate& estimate);

}  // namespace sptc::report
