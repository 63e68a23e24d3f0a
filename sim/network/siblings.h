// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/network/engine.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::network {

/// Weights that multiply the same input become one GEMM with the rows of all, where `engine` has a
/// rule for that and nothing but its operations stands between them: the queries, keys and values
/// of a layer. Changes both lists.
void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors);

}  // namespace sptc::network
