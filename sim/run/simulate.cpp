// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/config/kernel_library.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "sim/run/simulation_caches.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sptc::sim {
namespace {

/// How the report calls the operands.
std::string data_name(const SimulationOptions& options, const Workload& workload,
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
std::string library_of_engine(const RunOptions& options, const GpuSpec& gpu) {
  if (!options.network_engine) {
    return "";
  }
  const auto& libraries = options.network_engine->libraries;
  const auto found = libraries.find(gpu.instruction_set);
  return found == libraries.end() ? "" : found->second;
}

/// Replaces the kernels of `gpu`, not what launches take.
void set_library(const std::string& name, GpuSpec& gpu) {
  const KernelLibrarySpec own = gpu.kernels;
  gpu.kernels = load_kernel_library(name, {"the engine", "/libraries/" + gpu.instruction_set});
  gpu.kernels.launch_us = own.launch_us;
  gpu.kernels.stream_us = own.stream_us;
  gpu.kernels.sparse_stream_us = own.sparse_stream_us;
  gpu.kernels.reduction_launch_us = own.reduction_launch_us;
  gpu.kernels.cluster_ctas = own.cluster_ctas;
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

RunResult simulate(const Workload& workload, const Architecture& architecture,
                   const SimulationOptions& options, const SimulationHooks& hooks) {
  require_consistent(options);
  if (!hooks.waveform.empty() && options.fidelity == Fidelity::kAnalytic) {
    throw InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
  }
  if (hooks.operands != nullptr && !options.data.empty()) {
    throw InputError("--data names operand values, and others are given: give one");
  }
  std::unique_ptr<DataSource> named;
  if (!options.data.empty()) {
    named = make_data_source(options.data, options.seed);
  }
  const DataSource* const data = hooks.operands != nullptr ? hooks.operands : named.get();
  std::optional<Architecture> changed;
  if (!options.numerics.empty()) {
    mma::require_rule_set(options.numerics);
    changed = architecture;
    changed->gpu.numerics = options.numerics;
  }
  SimulationCaches own;
  SimulationCaches& caches = hooks.caches != nullptr ? *hooks.caches : own;
  RunOptions run_options = resolved(options, changed ? *changed : architecture, caches.energies());
  if (const auto library = library_of_engine(run_options, architecture.gpu); !library.empty()) {
    changed = changed ? *changed : architecture;
    set_library(library, changed->gpu);
  }
  const Architecture& asked = changed ? *changed : architecture;
  run_options.data = data_name(options, workload, hooks.operands);

  const bool generated =
      hooks.operands == nullptr &&
      (named == nullptr || dynamic_cast<const GeneratedData*>(named.get()) != nullptr);
  SwitchingSource* const switching =
      generated ? &caches.switching(options.data, options.seed) : nullptr;
  // What is refused before the first launch leaves no trace of SystemC.
  GemmLauncher launcher(asked.gpu, run_options, hooks.waveform);
  const auto launch = [&](const auto&... problem) {
    if (hooks.cancelled && hooks.cancelled()) {
      throw Cancelled();
    }
    return launcher(problem...);
  };
  return run_workload(workload, asked, run_options, data, launch, hooks.progress, switching);
}

void add_what_ifs(const Workload& workload, const Architecture& architecture,
                  const SimulationOptions& options, RunResult& result) {
  GpuSpec gpu = architecture.gpu;
  if (!options.numerics.empty()) {
    gpu.numerics = options.numerics;
  }
  RunOptions asked;
  static_cast<SimulationOptions&>(asked) = options;
  const KernelRunner kernels(gpu, asked, {});
  add_what_ifs(prepared_operations(workload, options), kernels, result.operations);
}

}  // namespace sptc::sim
