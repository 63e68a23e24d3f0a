// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "sim/run/simulation_caches.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

/// How the report calls the operands.
std::string data_name(const SimulationOptions& options, const workload::Workload& workload,
                      const DataSource* operands) {
  if (operands != nullptr) {
    return "file";
  }
  if (!options.data.empty()) {
    return options.data;
  }
  return workload.network && options.fidelity == Fidelity::kDatapath ? "network" : "random";
}

}  // namespace

SwitchingSource& SimulationCaches::switching(const std::string& kind, std::uint64_t seed) {
  const std::pair key(kind, seed);
  auto found = generated_.find(key);
  if (found == generated_.end()) {
    auto source = make_data_source(kind.empty() ? "random" : kind, seed);
    const DataSource& values = *source;
    found = generated_.emplace(key, Generated{std::move(source), SwitchingSource(values)}).first;
  }
  return found->second.switching;
}

RunResult simulate_by(const LauncherMaker& launcher_of, const workload::Workload& workload,
                      const config::Architecture& architecture, const SimulationOptions& options,
                      const SimulationHooks& hooks) {
  require_consistent(options);
  if (!hooks.waveform.empty() && options.fidelity == Fidelity::kAnalytic) {
    throw base::InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
  }
  if (hooks.operands != nullptr && !options.data.empty()) {
    throw base::InputError("--data names operand values, and others are given: give one");
  }
  std::unique_ptr<DataSource> named;
  if (!options.data.empty()) {
    named = make_data_source(options.data, options.seed);
  }
  const DataSource* const data = hooks.operands != nullptr ? hooks.operands : named.get();
  std::optional<config::Architecture> changed;
  if (!options.numerics.empty()) {
    mma::require_rule_set(options.numerics);
    changed = architecture;
    changed->gpu.numerics = options.numerics;
  }
  const config::Architecture& asked = changed ? *changed : architecture;
  SimulationCaches own;
  SimulationCaches& caches = hooks.caches != nullptr ? *hooks.caches : own;
  RunOptions run_options = resolved(options, asked, caches.energies());
  run_options.data = data_name(options, workload, hooks.operands);

  const bool generated =
      hooks.operands == nullptr &&
      (named == nullptr || dynamic_cast<const GeneratedData*>(named.get()) != nullptr);
  SwitchingSource* const switching =
      generated ? &caches.switching(options.data, options.seed) : nullptr;
  // What is refused before the first launch leaves no trace of SystemC.
  const Launcher launcher = launcher_of(asked.gpu, run_options);
  const auto launch = [&](const auto&... problem) {
    if (hooks.cancelled && hooks.cancelled()) {
      throw Cancelled();
    }
    return launcher(problem...);
  };
  return run_workload(workload, asked, run_options, data, launch, hooks.progress, switching);
}

RunResult estimate(const workload::Workload& workload, const config::Architecture& architecture,
                   SimulationOptions options, const SimulationHooks& hooks) {
  options.fidelity = Fidelity::kAnalytic;
  const LauncherMaker closed_form = [](const gpu::GpuSpec& gpu, const RunOptions& chosen) {
    return [&](const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
               const std::vector<kernels::GemmOperands>* /*operands*/) {
      return gpu::analytic_gemm(problem, overrides, gpu, chosen.clock_policy);
    };
  };
  return simulate_by(closed_form, workload, architecture, options, hooks);
}

}  // namespace sptc::run
