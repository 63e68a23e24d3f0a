// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::sim {

/// What bounds a launch, and what the sparse weights would need here to be twice as fast; empty
/// where nothing was simulated.
std::string bottleneck_sentence(const OperationResult& operation);

}  // namespace sptc::sim
