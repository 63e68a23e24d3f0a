// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

#include <string>

namespace sptc::report {

/// Adds to `result` what a report says beside the simulation: the assumed numbers and what they weigh, how far gains
/// are off on measured shapes like those of the workload, in closed form, and how near to the board anything was
/// measured.
void complete(run::RunResult& result, const workload::Workload& workload, const config::Architecture& architecture,
              const run::SimulationOptions& options);

/// json_report() of the completed result.
std::string complete_json_report(run::RunResult result, const workload::Workload& workload,
                                 const config::Architecture& architecture, const run::SimulationOptions& options);

}  // namespace sptc::report
