// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::sim {

/// Why one launch takes as long as it does: the share of its time in which each resource works
/// (what overlaps is counted in each), dense above sparse, and a sentence: what bounds it, and what
/// 2:4 would need here to be twice as fast.
std::string explain(const OperationResult& operation);

/// The sentence alone; empty where nothing was simulated.
std::string bottleneck_sentence(const OperationResult& operation);

}  // namespace sptc::sim
