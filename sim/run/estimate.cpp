// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "models/base/error.h"
#include "sim/config/kernel_library.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/asked_types.h"
#include "sim/run/assumed_costs.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "sim/run/simulation_caches.h"
#include "sim/run/unsupported_launches.h"

#include <cstdint>
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

/// The kernels that the engine has on the GPU; empty: those of the architecture.
std::string library_of_engine(const RunOptions& options, const gpu::GpuSpec& gpu) {
  if (!options.network_engine || !options.library.empty()) {
    return "";
  }
  const auto& libraries = options.network_engine->libraries;
  const auto found = libraries.find(gpu.instruction_set);
  return found == libraries.end() ? "" : found->second;
}

/// `architecture` with what `options` ask for of its arithmetic and its kernels; nothing where that
/// changes nothing.
std::optional<config::Architecture> changed(const config::Architecture& architecture,
                                            const RunOptions& options) {
  std::optional<config::Architecture> result;
  if (!options.numerics.empty() || !options.library.empty()) {
    result = with_asked(architecture, options);
  }
  if (const auto library = library_of_engine(options, architecture.gpu); !library.empty()) {
    result = result ? result : architecture;
    result->gpu.kernels = config::load_kernel_library(
        library, "the engine, /libraries/" + architecture.gpu.instruction_set);
  }
  return result;
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
  if (hooks.waveform != nullptr && options.fidelity == Fidelity::kAnalytic) {
    throw base::InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
  }
  if (hooks.passages != nullptr && options.fidelity == Fidelity::kAnalytic) {
    throw base::InputError(
        "--timeline and --konata show a simulation: not with --fidelity analytic");
  }
  if (hooks.operands != nullptr && !options.data.empty()) {
    throw base::InputError("--data names operand values, and others are given: give one");
  }
  std::unique_ptr<DataSource> named;
  if (!options.data.empty()) {
    named = make_data_source(options.data, options.seed);
  }
  const DataSource* const data = hooks.operands != nullptr ? hooks.operands : named.get();
  SimulationCaches own;
  SimulationCaches& caches = hooks.caches != nullptr ? *hooks.caches : own;
  RunOptions run_options = resolved(options, architecture, caches.energies());
  const std::optional<config::Architecture> other = changed(architecture, run_options);
  const config::Architecture& asked = other ? *other : architecture;
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

void add_what_ifs(const workload::Workload& workload, const config::Architecture& architecture,
                  const SimulationOptions& options, RunResult& result) {
  RunOptions asked;
  static_cast<SimulationOptions&>(asked) = options;
  asked.network_engine = asked_engine(options);
  const std::optional<config::Architecture> other = changed(architecture, asked);
  const KernelRunner kernels(other ? other->gpu : architecture.gpu, asked, {});
  const auto taken = without_unsupported(other ? other->gpu : architecture.gpu, options, workload);
  add_what_ifs(asked_work(taken ? *taken : workload, asked).operations, kernels, result.operations);
}

Launcher closed_form_launcher(const gpu::GpuSpec& gpu, const RunOptions& options) {
  return [&options, gemms = gpu::AnalyticGemms(gpu)](
             const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
             const std::vector<kernels::GemmOperands>* /*operands*/) mutable {
    return gemms.run(problem, overrides, options.clock_policy);
  };
}

double assumed_share(const workload::Workload& workload, const config::Architecture& architecture,
                     const SimulationOptions& options, const RunResult& result) {
  RunOptions asked;
  static_cast<SimulationOptions&>(asked) = options;
  asked.network_engine = asked_engine(options);
  const std::optional<config::Architecture> other = changed(architecture, asked);
  const config::Architecture& board = other ? *other : architecture;
  const gpu::GpuSpec worse = with_twice_the_assumed_costs(board);
  const KernelRunner kernels(board.gpu, asked, {});
  const auto taken = without_unsupported(board.gpu, options, workload);
  const auto work = asked_work(taken ? *taken : workload, asked);
  double now_us = 0, then_us = 0;
  for (std::size_t i = 0; i < result.operations.size(); ++i) {
    const OperationResult& row = result.operations[i];
    for (const auto* const variant : {&row.dense, &row.sparse}) {
      if (*variant) {
        const auto count = static_cast<double>(row.count);
        const auto time_us = [&](const gpu::GpuSpec& gpu) {
          return count *
                 kernels.closed_form_us(work.operations[i], variant == &row.sparse, **variant, gpu);
        };
        now_us += time_us(board.gpu);
        then_us += time_us(worse);
      }
    }
  }
  return now_us > 0 ? then_us / now_us - 1 : 0;
}

RunResult estimate(const workload::Workload& workload, const config::Architecture& architecture,
                   SimulationOptions options, const SimulationHooks& hooks) {
  options.fidelity = Fidelity::kAnalytic;
  return simulate_by(closed_form_launcher, workload, architecture, options, hooks);
}

}  // namespace sptc::run
