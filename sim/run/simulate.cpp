// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/io/text_file.h"
#include "sim/run/estimate.h"
#include "sim/run/gemm_launcher.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

/// The launches without values that a run asks for, each once, found in closed form.
std::vector<AskedLaunch> launches_of(const workload::Workload& workload,
                                     const config::Architecture& architecture,
                                     SimulationOptions options, const SimulationHooks& hooks) {
  options.check = CheckMode::kNone;
  options.what_ifs = false;
  std::set<AskedLaunch> asked;
  const LauncherMaker noting = [&](const gpu::GpuSpec& gpu, const RunOptions& chosen) {
    return [&asked, launch = closed_form_launcher(gpu, chosen)](
               const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
               const std::vector<kernels::GemmOperands>* /*operands*/) {
      asked.emplace(problem, overrides);
      return launch(problem, overrides, nullptr);
    };
  };
  SimulationHooks silent;
  silent.operands = hooks.operands;
  silent.caches = hooks.caches;
  simulate_by(noting, workload, architecture, options, silent);
  return {asked.begin(), asked.end()};
}

/// Whether launches can be simulated in other processes: nobody looks into them, and they have no
/// values.
bool may_be_ahead(const SimulationOptions& options, const SimulationHooks& hooks) {
  return hooks.jobs > 1 && options.fidelity == Fidelity::kTiming && options.memory.empty() &&
         hooks.waveform == nullptr && hooks.passages == nullptr;
}

}  // namespace

RunResult simulate(const workload::Workload& workload, const config::Architecture& architecture,
                   const SimulationOptions& options, const SimulationHooks& hooks) {
  std::vector<AskedLaunch> ahead;
  if (may_be_ahead(options, hooks)) {
    ahead = launches_of(workload, architecture, options, hooks);
  }
  std::string dram;
  const LauncherMaker launches = [&](const gpu::GpuSpec& gpu, const RunOptions& chosen) {
    auto launcher = std::make_shared<GemmLauncher>(gpu, chosen, hooks.waveform, hooks.passages);
    dram = launcher->dram();
    launcher->simulate_ahead(ahead, hooks.jobs, [&](std::size_t ended) {
      if (hooks.cancelled && hooks.cancelled()) {
        throw Cancelled();
      }
      if (hooks.progress) {
        hooks.progress(ended, ahead.size(), "kernels");
      }
    });
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
