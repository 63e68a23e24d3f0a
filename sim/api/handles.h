// SPDX-License-Identifier: Apache-2.0
//
// What the handles of the installed API hold.
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload_text.h"

#include <nlohmann/json.hpp>

#include <sptcsim/estimate.h>
#include <string>

namespace sptcsim {

struct Architecture::State {
  sptc::config::Architecture value;
  nlohmann::json document;              ///< complete
  sptc::config::ArchitectureText text;  ///< for another process
};

struct Workload::State {
  sptc::workload::Workload value;
  sptc::workload::WorkloadText text;  ///< for another process
};

sptc::run::SimulationOptions simulation_options(const Options& options);

/// What json_report() says of `result`.
std::string report_of(sptc::run::RunResult result, const Architecture& architecture);

/// The figures of a report.
Result result_of(std::string report);

}  // namespace sptcsim
