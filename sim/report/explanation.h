// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::sim {

/// Why one launch takes as long as it does: the share of its time in which each resource works
/// (what overlaps is counted in each), dense above sparse, and bottleneck_sentence().
std::string explain(const OperationResult& operation);

}  // namespace sptc::sim
