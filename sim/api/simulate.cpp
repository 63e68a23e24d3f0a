// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/api/handles.h"
#include "sim/run/worker.h"

#include <sptcsim/simulate.h>

// libsystemc asks for sc_main. A program that has its own main() never calls it; one that has an
// sc_main() gets its own.
extern "C" __attribute__((weak)) int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

namespace sptcsim {

Result simulate(const Workload& workload, const Architecture& architecture, const Options& options,
                const Hooks& hooks) {
  const sptc::run::SimulationOptions chosen = simulation_options(options);
  const std::lock_guard mine(turn());
  return result_of(sptc::run::run_in_worker(
      [&](const sptc::run::Progress& report) {
        sptc::run::SimulationHooks inner;
        inner.progress = report;
        return report_of(
            sptc::run::simulate(workload.state().value, architecture.state().value, chosen, inner),
            architecture);
      },
      hooks.progress, hooks.poll ? hooks.poll : [] {}));
}

}  // namespace sptcsim
