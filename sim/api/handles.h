// SPDX-License-Identifier: Apache-2.0
//
// What the handles of the installed API hold.
#pragma once

#include "sim/config/documented_architecture.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

#include <mutex>
#include <sptcsim/estimate.h>
#include <string>

namespace sptcsim {

struct Architecture::State : sptc::config::DocumentedArchitecture {};

struct Workload::State {
  sptc::workload::Workload value;
};

sptc::run::SimulationOptions simulation_options(const Options& options);

/// One estimate or simulation at a time.
std::mutex& turn();

/// What json_report() says of `result`.
std::string report_of(sptc::run::RunResult result, const Architecture& architecture);

/// The figures of a report.
Result result_of(std::string report);

}  // namespace sptcsim
