// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/io/text_file.h"
#include "sim/run/estimate.h"
#include "sim/run/gemm_launcher.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace sptc::run {

RunResult simulate(const workload::Workload& workload, const config::Architecture& architecture,
                   const SimulationOptions& options, const SimulationHooks& hooks) {
  std::string dram;
  const LauncherMaker launches = [&](const gpu::GpuSpec& gpu, const RunOptions& chosen) {
    auto launcher = std::make_shared<GemmLauncher>(gpu, chosen, hooks.waveform, hooks.passages);
    dram = launcher->dram();
    return
        [launcher](const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                   const std::vector<kernels::GemmOperands>* operands) {
          return (*launcher)(problem, overrides, operands);
        };
  };
  RunResult result = simulate_by(launches, workload, architecture, options, hooks);
  if (!dram.empty()) {
    result.notes.push_back(
        fmt::format("DRAM behind the L2 is {} of {}, which makes cycles and traffic; bounds and "
                    "the energy of a "
                    "byte are of the DRAM of {}",
                    dram, io::printable(options.memory), architecture.gpu.name));
  }
  return result;
}

}  // namespace sptc::run
