// SPDX-License-Identifier: Apache-2.0
//
// What the handles of the installed API hold.
#pragma once

#include "sim/config/documented_architecture.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload_text.h"

#include <nlohmann/json.hpp>

#include <sptcsim/estimate.h>
#include <string>

namespace sptcsim {

struct Architecture::State : sptc::config::DocumentedArchitecture {
  /// The architecture as another process reads it.
  sptc::config::ArchitectureText text() const {
    return {document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), value.gpu.name, value.bases};
  }
};

struct Workload::State {
  sptc::workload::Workload value;
  sptc::workload::WorkloadText text;  ///< for another process
};

sptc::run::SimulationOptions simulation_options(const Options& options);

std::string report_of(sptc::run::RunResult result, const Architecture& architecture);

Result result_of(std::string report);

}  // namespace sptcsim
