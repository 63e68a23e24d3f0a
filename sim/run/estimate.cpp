// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "models/base/error.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/kernel_library.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/asked_work.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

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
std::string library_of_engine(const SimulationOptions& options, const gpu::GpuSpec& gpu) {
  if (!options.network_engine || !options.library.empty()) {
    return "";
  }
  const auto& libraries = options.network_engine->libraries;
  const auto found = libraries.find(gpu.instruction_set);
  return found == libraries.end() ? "" : found->second;
}

void require_possible(const SimulationOptions& options, const SimulationHooks& hooks) {
  require_consistent(options);
  if (!hooks.observers.empty() && options.fidelity == Fidelity::kAnalytic) {
    throw base::InputError("--timeline and --konata show a simulation: not with --fidelity analytic");
  }
  if (hooks.operands != nullptr && !options.data.empty()) {
    throw base::InputError("--data names operand values, and others are given: give one");
  }
}

/// `architecture` with what `options` ask for of its arithmetic and its kernels; nothing where that
/// changes nothing.
std::optional<config::Architecture> changed(const config::Architecture& architecture,
                                            const SimulationOptions& options) {
  std::optional<config::Architecture> result;
  if (!options.numerics.empty() || !options.library.empty()) {
    result = with_asked(architecture, options);
  }
  if (const auto library = library_of_engine(options, architecture.gpu); !library.empty()) {
    result = result ? result : architecture;
    result->gpu.kernels =
        config::load_kernel_library(library, "the engine, /libraries/" + architecture.gpu.instruction_set);
  }
  return result;
}

/// The operations of a run that is over, and what launches them again in closed form.
struct AskedLaunches {
  SimulationOptions options;
  config::Architecture board;
  gpu::ClosedFormTimer timer;
  KernelRunner kernels;
  std::vector<workload::Operation> operations;

  AskedLaunches(const workload::Workload& workload, const config::Architecture& architecture,
                const SimulationOptions& asked)
      : board(architecture), timer(board.gpu, options.clock_policy), kernels(board.gpu, options, timer) {
    options = asked;
    options.network_engine = asked_engine(asked, &architecture.gpu);
    if (auto other = changed(architecture, options)) {
      board = std::move(*other);
    }
    const auto taken = without_unsupported(board.gpu, asked, workload);
    operations = asked_work(taken ? *taken : workload, options).operations;
  }
  AskedLaunches(const AskedLaunches&) = delete;
  AskedLaunches& operator=(const AskedLaunches&) = delete;
};

/// What twice the cost makes of a number whose key ends so; 1: it is no cost.
double factor_of(std::string_view key) {
  constexpr std::pair<std::string_view, double> kFactors[] = {
      {"_bytes_per_cycle", 0.5}, {"_cycles", 2}, {"_us", 2}, {"_ns", 2}, {"_gb_per_s", 0.5}, {"_percent", 0.5}};
  const auto* const found = std::find_if(std::begin(kFactors), std::end(kFactors),
                                         [key](const auto& factor) { return key.ends_with(factor.first); });
  return found == std::end(kFactors) ? 1 : found->second;
}

kernels::Algorithm other_than(kernels::Algorithm algorithm) {
  return algorithm == kernels::Algorithm::kBest ? kernels::Algorithm::kHeuristic : kernels::Algorithm::kBest;
}

}  // namespace

void add_what_ifs(const std::vector<workload::Operation>& operations, const KernelRunner& kernels,
                  std::vector<OperationResult>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    OperationResult& row = results[i];
    for (auto* const variant : {&row.dense, &row.sparse, &row.dense_among_sparse}) {
      if (*variant) {
        (*variant)->explanation.what_if = kernels.what_if(operations[i], variant == &row.sparse, **variant);
      }
    }
  }
}

gpu::GpuSpec with_twice_the_assumed_costs(const config::Architecture& architecture) {
  std::map<std::string, double> worse;
  for (const config::Parameter& parameter : architecture.parameters) {
    if (parameter.evidence == "assumed") {
      worse[parameter.pointer] = parameter.value;
    }
  }
  gpu::GpuSpec gpu = architecture.gpu;
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    const auto found = worse.find(std::string(field.section) + "/" + std::string(field.key));
    const double factor = factor_of(field.key);
    if (found != worse.end() && factor != 1 && found->second != 0) {  // 0: there is no such cost
      const double value = found->second * factor;
      field.store(gpu, field.integer ? std::max(1.0, std::floor(value)) : value);
    }
  }
  return gpu;
}

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

PreparedRun::PreparedRun(const workload::Workload& workload, const config::Architecture& architecture,
                         const SimulationOptions& asked, const SimulationHooks& hooks)
    : workload_(workload), board_(&architecture), data_(hooks.operands) {
  require_possible(asked, hooks);
  if (!asked.data.empty()) {
    named_ = make_data_source(asked.data, asked.seed);
    data_ = named_.get();
  }
  SimulationCaches& caches = hooks.caches != nullptr ? *hooks.caches : own_;
  options_ = resolved(asked, architecture, caches.energies());
  changed_ = changed(architecture, options_);
  if (changed_) {
    board_ = &*changed_;
  }
  options_.data = data_name(asked, workload, hooks.operands);
  if (data_ == nullptr || dynamic_cast<const GeneratedData*>(named_.get()) != nullptr) {
    switching_ = &caches.switching(asked.data, asked.seed);
  }
}

RunResult PreparedRun::run(gpu::Timer& timer, const ProgressCallback& progress) const {
  return run_workload(workload_, *board_, options_, data_, timer, progress, switching_);
}

RunResult PreparedRun::run_for_times(gpu::Timer& timer) const {
  return run_workload(workload_, *board_, times_alone(options_), data_, timer, {}, switching_);
}

gpu::Timer::Hook stop_if_cancelled(const SimulationHooks& hooks) {
  return [&hooks](const kernels::GemmProblem& /*problem*/, kernels::KernelOverrides& /*kernel*/) {
    if (hooks.cancelled && hooks.cancelled()) {
      throw Cancelled();
    }
  };
}

void add_what_ifs(const workload::Workload& workload, const config::Architecture& architecture,
                  const SimulationOptions& options, RunResult& result) {
  const AskedLaunches asked(workload, architecture, options);
  add_what_ifs(asked.operations, asked.kernels, result.operations);
}

double assumed_share(const workload::Workload& workload, const config::Architecture& architecture,
                     const SimulationOptions& options, const RunResult& result) {
  const AskedLaunches asked(workload, architecture, options);
  const gpu::GpuSpec worse = with_twice_the_assumed_costs(asked.board);
  double now_us = 0, then_us = 0;
  for (std::size_t i = 0; i < result.operations.size(); ++i) {
    const OperationResult& row = result.operations[i];
    for (const auto* const variant : {&row.dense, &row.sparse}) {
      if (*variant) {
        const auto count = static_cast<double>(row.count);
        const auto time_us = [&](const gpu::GpuSpec& gpu) {
          return count * asked.kernels.closed_form_us(asked.operations[i], variant == &row.sparse, **variant, gpu);
        };
        now_us += time_us(asked.board.gpu);
        then_us += time_us(worse);
      }
    }
  }
  return now_us > 0 ? then_us / now_us - 1 : 0;
}

RunResult estimate(const workload::Workload& workload, const config::Architecture& architecture,
                   SimulationOptions options, const SimulationHooks& hooks) {
  options.fidelity = Fidelity::kAnalytic;
  const PreparedRun prepared(workload, architecture, options, hooks);
  gpu::ClosedFormTimer timer(prepared.board().gpu, prepared.options().clock_policy);
  timer.before_each(stop_if_cancelled(hooks));
  return prepared.run(timer, hooks.progress);
}

std::optional<LibraryPath> library_path(const workload::Workload& workload, const config::Architecture& architecture,
                                        const SimulationOptions& options, const RunResult& result) {
  const bool own_kernels = options.pattern || options.kernel.cta_tile || searches_kernels(options, architecture);
  if (!result.gain() || own_kernels) {
    return std::nullopt;
  }
  const kernels::KernelLibrarySpec& library = architecture.gpu.kernels;
  LibraryPath path;
  path.layout = options.conditions.layout;
  const std::optional<network::EngineSpec> engine = asked_engine(options);
  path.algorithm = options.sparse_algorithm.value_or(engine && !engine->gemms_only ? engine->algorithm
                                                                                   : options.conditions.algorithm);
  path.default_known = std::any_of(result.operations.begin(), result.operations.end(), [&](const OperationResult& op) {
    return op.sparse && library.sparse_default(op.dtype, path.layout) != nullptr;
  });
  if (!path.default_known) {
    return path;
  }
  SimulationOptions other = times_alone(options);
  other.sparse_algorithm = other_than(path.algorithm);
  other.data = "";
  other.memory = other.memory_config = "";
  path.other_gain = estimate(workload, architecture, other).gain();
  return path;
}

}  // namespace sptc::run
