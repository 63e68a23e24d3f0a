// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

#include <optional>

namespace sptc::run {

/// By which path 2:4 weights of `result`, which simulate() returned for the same arguments, came to
/// their kernels, and what they gain on the other path: with the other algorithm of the library,
/// dense and sparse in closed form. Nothing where a variant is missing, or where kernels or tiles
/// are not the library's.
std::optional<LibraryPath> library_path(const workload::Workload& workload,
                                        const config::Architecture& architecture,
                                        const SimulationOptions& options, const RunResult& result);

}  // namespace sptc::run
