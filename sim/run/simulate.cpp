// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/run/estimate.h"
#include "sim/run/gemm_launcher.h"

#include <memory>
#include <vector>

namespace sptc::run {

RunResult simulate(const workload::Workload& workload, const config::Architecture& architecture,
                   const SimulationOptions& options, const SimulationHooks& hooks) {
  const LauncherMaker launches = [&](const gpu::GpuSpec& gpu, const RunOptions& chosen) {
    return [launcher = std::make_shared<GemmLauncher>(gpu, chosen, hooks.waveform, hooks.passages)](
               const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
               const std::vector<kernels::GemmOperands>* operands) {
      return (*launcher)(problem, overrides, operands);
    };
  };
  return simulate_by(launches, workload, architecture, options, hooks);
}

}  // namespace sptc::run
