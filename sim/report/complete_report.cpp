// SPDX-License-Identifier: Apache-2.0
#include "sim/report/complete_report.h"

#include "sim/check/times/evidence.h"
#include "sim/config/architecture.h"
#include "sim/report/report.h"
#include "sim/run/estimate.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"

#include <utility>

namespace sptc::report {

void complete(run::RunResult& result, const workload::Workload& workload, const config::Architecture& architecture,
              const run::SimulationOptions& options) {
  result.assumed = run::assumptions(architecture);
  result.measured_gain = check::times::measured_neighbours(result, architecture, options);
  result.evidence = check::times::evidence_distance(result, architecture);
  result.path = run::library_path(workload, architecture, options, result);
  result.assumed_share = run::assumed_share(workload, architecture, options, result);
}

std::string complete_json_report(run::RunResult result, const workload::Workload& workload,
                                 const config::Architecture& architecture, const run::SimulationOptions& options) {
  complete(result, workload, architecture, options);
  return json_report(result);
}

}  // namespace sptc::report
