// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/run/check.h"
#include "sim/run/memory_use.h"
#include "sim/run/pass_kind.h"
#include "sim/run/run_parts.h"
#include "sim/run/value_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace sptc::run {
namespace {

bool is_dense_only(const SimulationOptions& asked, const gpu::GpuSpec& gpu) {
  return asked.variants == Variants::kBoth && gpu.sm.tensor_core.selector_inputs == 1;
}

/// Leaves of both variants the one that a GPU without sparse matrix instructions has.
SimulationOptions with_possible_variants(SimulationOptions options, const gpu::GpuSpec& gpu) {
  if (is_dense_only(options, gpu)) {
    options.variants = Variants::kDense;
  }
  return options;
}

/// Which variants of one operation are simulated: an operation that cannot be pruned is dense in
/// every variant.
bool runs_dense(const workload::Operation& op, Variants variants) {
  return variants != Variants::kSparse || !op.prunable;
}
bool runs_sparse(const workload::Operation& op, Variants variants) {
  return variants != Variants::kDense && op.prunable;
}

/// Throws InputError where --fidelity datapath computes no values at the pattern that `options` ask
/// for. `chained`: layers feed each other.
void require_values(const std::vector<workload::Operation>& operations, bool chained, const gpu::GpuSpec& gpu,
                    const SimulationOptions& options) {
  if (!options.pattern) {
    return;
  }
  const auto is_own = [&](const workload::Operation& op) {
    return runs_sparse(op, options.variants) && !is_hardware(options, op.dtype, gpu);
  };
  if (options.saves_values() && std::any_of(operations.begin(), operations.end(), is_own)) {
    io::refuse("--save-operands and --save-d know the patterns of the hardware, not {}", options.pattern->name());
  }
  if (options.fidelity != Fidelity::kDatapath || std::none_of(operations.begin(), operations.end(), is_own)) {
    return;
  }
  if (options.pattern->vector_rows > 0) {
    throw base::InputError("--fidelity datapath computes N:M weights, not " + options.pattern->name() +
                           ", whose blocks of rows choose columns: use analytic");
  }
  if (chained) {
    throw base::InputError(
        "--fidelity datapath computes the layers of a network at the hardware's "
        "pattern, not " +
        options.pattern->name() + ": use timing or analytic");
  }
}

OperationResult header(const workload::Operation& op, const SimulationOptions& options) {
  OperationResult result;
  result.name = op.name;
  result.shape = op.shape;
  result.batch = op.batch;
  result.count = op.count;
  result.dtype = op.dtype;
  result.prunable = op.prunable;
  result.pattern = options.pattern ? options.pattern->name() : sparsity::hardware_pattern(op.dtype).name();
  result.rest_us = static_cast<double>(op.rest.ns) * 1e-3;
  result.measured_us = op.recorded.time_us;
  result.measured_sparse = op.recorded.sparse;
  return result;
}

std::string no_sparse_of(const AskedWork& work, const SimulationOptions& options) {
  const bool any = std::any_of(work.operations.begin(), work.operations.end(),
                               [](const workload::Operation& op) { return op.prunable; });
  if (any || work.no_kernels.empty() || options.variants == Variants::kDense) {
    return "";
  }
  if (options.variants == Variants::kSparse) {
    throw base::InputError(work.no_kernels);
  }
  return work.no_kernels;
}

using Progress = std::function<void(std::size_t done)>;

/// Runs each operation by itself, as dense and as sparse weights go through it.
void run_each(const std::vector<workload::Operation>& operations, const LaunchContext& run,
              const Progress& report_progress, std::vector<OperationResult>& results) {
  if (run.options.fidelity == Fidelity::kDatapath) {
    std::for_each(operations.begin(), operations.end(), require_operand_memory);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const workload::Operation& op = operations[i];
    report_progress(i);
    if (runs_dense(op, run.options.variants)) {
      results[i].dense = run_variant(op, false, run);
    }
    if (runs_sparse(op, run.options.variants)) {
      results[i].sparse = run_variant(op, true, run);
    }
  }
}

void add_memory(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
                const gpu::GpuSpec& gpu, RunResult& result) {
  result.reports_memory = options.runs_whole_network();
  if (options.variants != Variants::kSparse) {
    result.dense_memory = memory_use(workload, work, options, gpu, false);
  }
  if (options.variants != Variants::kDense && std::any_of(work.operations.begin(), work.operations.end(),
                                                          [](const workload::Operation& op) { return op.prunable; })) {
    result.sparse_memory = memory_use(workload, work, options, gpu, true);
  }
}

/// RunResult::mix_memory of `result`, whose inference has run.
std::optional<MemoryUse> memory_of_mix(const workload::Workload& workload, AskedWork work,
                                       const SimulationOptions& options, const gpu::GpuSpec& gpu,
                                       const InferenceResult& inference) {
  std::set<std::string> dense;
  for (const InferenceKernel& kernel : inference.kernels) {
    if (kernel.group == workload::WorkGroup::kGemm && kernel.sparse && !kernel.takes_sparse) {
      dense.insert(kernel.name);
    }
  }
  for (workload::Operation& op : work.operations) {
    op.prunable = op.prunable && !dense.contains(op.name);
  }
  return memory_use(workload, work, options, gpu, true);
}

/// What is known before the first launch.
RunResult header(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
                 const gpu::GpuSpec& gpu) {
  RunResult result;
  result.workload = workload::title(workload);
  result.arch = gpu.name;
  result.fidelity = name(options.fidelity);
  result.made_by = made_by(options.fidelity, gpu.sms);
  result.options = describe(options);
  result.seed = options.seed;
  result.does_not_fit = does_not_fit(workload, work, options, gpu);
  add_memory(workload, work, options, gpu, result);
  for (const workload::Operation& op : work.operations) {
    result.operations.push_back(header(op, options));
  }
  return result;
}

/// RunResult::left_out of launches of `given` that `taken` is without.
std::string left_out(const workload::Workload& given, const workload::Workload& taken) {
  const auto first = taken.not_taken.begin() + static_cast<std::ptrdiff_t>(given.not_taken.size());
  std::int64_t launches = 0;
  for (auto left = first; left != taken.not_taken.end(); ++left) {
    launches += left->count;
  }
  return fmt::format("{} launches of the recording are left out; the first: {}", launches, first->reason);
}

void add_area(const SimulationOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  result.area = gpu_area(gpu, *options.area);
  const energy::CostFactors& factors = *options.power->factors;
  result.area_bounds_mm2 = sum_bounds(factors.factors, factors.amounts(result.area->by_constant_mm2(), factors.area));
}

}  // namespace

RunResult run_workload(const workload::Workload& given, const config::Architecture& architecture,
                       const SimulationOptions& asked, const DataSource* data, gpu::Timer& timer,
                       const ProgressCallback& progress, SwitchingSource* switching) {
  require_consistent(asked);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const SimulationOptions options = with_possible_variants(asked, gpu);
  const auto taken = without_unsupported(gpu, options, given);
  const workload::Workload& workload = taken ? *taken : given;
  const AskedWork work = asked_work(workload, options);
  const std::string no_sparse = no_sparse_of(work, options);
  const bool chained = workload.network.has_value() && data == nullptr;
  require_values(work.operations, chained, gpu, options);
  RunResult result = header(workload, work, options, gpu);
  result.no_sparse = no_sparse;

  KernelRunner kernels(gpu, options, timer);
  const GeneratedData generated(workload::DataKind::kRandom, options.seed);
  const DataSource& values = data == nullptr ? generated : *data;
  SwitchingSource sampled(values);
  SwitchingSource& toggles = switching != nullptr ? *switching : sampled;
  const Progress report_progress = [&](std::size_t done) {
    if (progress) {
      const std::size_t all = work.operations.size();
      progress(done, all, done < all ? work.operations[done].name : "");
    }
  };
  const bool network_runs = chained && options.fidelity == Fidelity::kDatapath;
  std::optional<ValueFiles> saved;
  if (options.saves_values()) {
    if (network_runs) {
      throw base::InputError(
          "--save-operands and --save-d: the layers of this network feed each other in datapath; "
          "--data random gives each operands of its own");
    }
    saved.emplace(options, gpu);
  }
  if (network_runs) {
    result.accuracy =
        run_network(*workload.network, work.operations, gpu, options, kernels, report_progress, result.operations);
  } else {
    run_each(work.operations, {gpu, options, values, toggles, kernels, saved ? &*saved : nullptr}, report_progress,
             result.operations);
  }
  report_progress(work.operations.size());
  if (options.network_engine) {
    run_inference(workload, work, gpu, options, kernels, toggles, result);
    result.inference->pass = pass_kind(workload);
    result.inference->pass.gpus = options.gpus();
    result.inference->pass.shares_experts = options.expert_parallel > 1;
    if (result.inference->mix) {
      result.mix_memory = memory_of_mix(workload, work, options, gpu, *result.inference);
    }
    if (options.training) {  // nobody waits for a token of it
      result.inference->pass.stage = PassKind::Stage::kOther;
      result.inference->pass.tokens = 1;
    }
  }
  add_energy(work.operations, toggles, options, kernels, result);
  if (options.what_ifs) {
    add_what_ifs(work.operations, kernels, result.operations);
  }
  if (options.area) {
    add_area(options, gpu, result);
  }
  result.totals = sum_up(result.operations);
  add_notes(workload, work, options, gpu, network_runs, kernels, result);
  if (taken) {
    result.left_out = left_out(given, *taken);
    result.notes.push_back(result.left_out);
  }
  if (is_dense_only(asked, gpu)) {
    result.notes.push_back(gpu.name + " has no sparse matrix instructions: dense only");
  }
  if (saved) {  // when nothing can be refused any more
    saved->commit();
  }
  return result;
}

}  // namespace sptc::run
