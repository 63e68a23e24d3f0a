// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/network/engine.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::network {

/// What operations of `engine.wide` write is f32, and what they write passes others as it is. GEMMs
/// read the type of their operands: a conversion stands before those whose input is f32, or, where
/// `engine` fuses copies with what wrote it, that writes both. Changes `vectors`, of which nothing
/// changes where the engine has no such operations.
void widen_tensors(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                   std::vector<workload::VectorOperation>& vectors);

}  // namespace sptc::network
