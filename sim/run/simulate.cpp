// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/io/text_file.h"
#include "sim/run/estimate.h"
#include "sim/run/systemc_timer.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

/// The launches without values that a run asks for, each once, found in closed form.
std::vector<AskedLaunch> launches_of(const PreparedRun& prepared) {
  std::set<AskedLaunch> asked;
  gpu::ClosedFormTimer timer(prepared.board().gpu, prepared.options().clock_policy);
  timer.before_each([&asked](const kernels::GemmProblem& problem, kernels::KernelOverrides& overrides) {
    asked.emplace(problem, overrides);
  });
  prepared.run_for_times(timer);
  return {asked.begin(), asked.end()};
}

/// Whether launches can be simulated in other processes: nobody looks into them, and they have no
/// values. Where some are saved, a file that cannot be written is refused before the first launch.
bool may_be_ahead(const SimulationOptions& options, const SimulationHooks& hooks) {
  return hooks.jobs > 1 && options.fidelity == Fidelity::kTiming && options.memory.empty() && !options.saves_values() &&
         hooks.observers.empty();
}

}  // namespace

RunResult simulate(const workload::Workload& workload, const config::Architecture& architecture,
                   const SimulationOptions& options, const SimulationHooks& hooks) {
  if (options.fidelity == Fidelity::kAnalytic) {
    return estimate(workload, architecture, options, hooks);
  }
  const PreparedRun prepared(workload, architecture, options, hooks);
  SystemCTimer timer(prepared.board().gpu, prepared.options(), hooks.observers);
  if (may_be_ahead(options, hooks)) {
    const std::vector<AskedLaunch> ahead = launches_of(prepared);
    timer.simulate_ahead(ahead, hooks.jobs, [&](std::size_t ended) {
      if (hooks.cancelled && hooks.cancelled()) {
        throw Cancelled();
      }
      if (hooks.progress) {
        hooks.progress(ended, ahead.size(), "kernels");
      }
    });
  }
  timer.before_each(stop_if_cancelled(hooks));
  RunResult result = prepared.run(timer, hooks.progress);
  if (const std::string dram = timer.dram(); !dram.empty()) {
    result.notes.push_back(
        fmt::format("the DRAM is simulated by {} of {}, which gives cycles and bytes; bounds and "
                    "the energy of a byte are those of the DRAM of {}",
                    dram, io::printable(options.memory), architecture.gpu.name));
  }
  return result;
}

}  // namespace sptc::run
