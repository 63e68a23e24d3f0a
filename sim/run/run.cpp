// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include "models/base/error.h"
#include "sim/run/check.h"
#include "sim/run/run_parts.h"
#include "sim/run/value_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace sptc::run {
namespace {

bool is_dense_only(const RunOptions& asked, const gpu::GpuSpec& gpu) {
  return asked.variants == Variants::kBoth && gpu.sm.tensor_core.selector_inputs == 1;
}

/// Of both variants the one that a GPU without sparse matrix instructions has.
RunOptions with_possible_variants(RunOptions options, const gpu::GpuSpec& gpu) {
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

/// Throws InputError where the data path of `gpu` carries no values at the pattern that `options`
/// ask for. `chained`: layers feed each other.
void require_values(const std::vector<workload::Operation>& operations, bool chained,
                    const gpu::GpuSpec& gpu, const RunOptions& options) {
  if (!options.pattern) {
    return;
  }
  const auto is_own = [&](const workload::Operation& op) {
    return runs_sparse(op, options.variants) && !is_hardware(options, op.dtype, gpu);
  };
  if (options.saves_values() && std::any_of(operations.begin(), operations.end(), is_own)) {
    throw base::InputError(
        fmt::format("--save-operands and --save-d know the patterns of the hardware, not {}",
                    options.pattern->name()));
  }
  if (options.fidelity != Fidelity::kDatapath ||
      std::none_of(operations.begin(), operations.end(), is_own)) {
    return;
  }
  if (options.pattern->vector_rows > 0) {
    throw base::InputError("the simulated data path carries N:M weights, not " +
                           options.pattern->name() +
                           ", whose blocks of rows choose columns: use --fidelity analytic");
  }
  if (chained) {
    throw base::InputError("a network with data carries weights at the hardware's pattern, not " +
                           options.pattern->name() + ": use --fidelity timing");
  }
}

OperationResult header(const workload::Operation& op, const RunOptions& options) {
  OperationResult result;
  result.name = op.name;
  result.shape = op.shape;
  result.batch = op.batch;
  result.count = op.count;
  result.dtype = op.dtype;
  result.prunable = op.prunable;
  result.pattern =
      options.pattern ? options.pattern->name() : sparsity::hardware_pattern(op.dtype).name();
  result.rest_us = static_cast<double>(op.rest.ns) * 1e-3;
  result.measured_us = op.recorded.time_us;
  result.measured_sparse = op.recorded.sparse;
  return result;
}

/// One variant whose bits travel through the data path.
VariantResult run_with_values(const workload::Operation& op, bool sparse, const gpu::GpuSpec& gpu,
                              const RunOptions& options, const DataSource& data,
                              KernelRunner& kernels, ValueFiles* saved) {
  const bool own = sparse && !is_hardware(options, op.dtype, gpu);
  const auto execution = own ? kernels.execution(op) : sparsity::PatternExecution{};
  std::vector<kernels::GemmOperands> operands;
  for (std::int64_t entry = 0; entry < op.batch; ++entry) {
    operands.push_back(own ? pattern_operands(op, data, weight_pattern(options.pattern, op.dtype),
                                              execution, entry)
                           : make_operands(op, sparse, data, entry));
  }
  KernelRunner::ValueRun run = kernels.compute(op, sparse, operands);
  if (options.check_mode() != CheckMode::kNone) {
    run.result.check = own ? check_own_pattern(op, execution, gpu, options, data, &run.d)
                           : check_entries(operands, run.d, {gpu, op.dtype, sparse}, options);
  }
  if (saved != nullptr) {
    saved->add({op, sparse, run.result.kernel, operands, &run.d});
  }
  return std::move(run.result);
}

/// Weights that 2:4 hardware runs, too, take the faster way, at the clock that the power allows.
void choose_execution(const workload::Operation& op, const RunOptions& options,
                      SwitchingSource& switching, KernelRunner& kernels) {
  if (options.kernel.cta_tile || !kernels.may_leave_selector(op)) {
    return;
  }
  const auto time_us = [&](bool leave) {
    kernels.leave_selector(op, leave);
    if (options.fidelity == Fidelity::kDatapath) {
      return kernels.closed_form(op, true).timing.time_us;  // one launch alone is observed
    }
    const auto at_clock = [&](double mhz) { return kernels.time(op, true, mhz); };
    VariantResult figures = at_clock(first_clock(op, true, switching, options, kernels));
    if (options.power) {
      add_energy(op, true, *options.power, switching_on(kernels, op, true, options, switching),
                 options, at_clock, figures);
    }
    return figures.timing.time_us;
  };
  const double used = time_us(false);
  kernels.leave_selector(op, time_us(true) < used);
}

/// One variant of one operation, its values checked as `options` ask, and saved where `saved` is
/// not null. Throws InputError.
VariantResult run_variant(const workload::Operation& op, bool sparse, const gpu::GpuSpec& gpu,
                          const RunOptions& options, const DataSource& data,
                          SwitchingSource& switching, KernelRunner& kernels, ValueFiles* saved) {
  if (sparse) {
    choose_execution(op, options, switching, kernels);
  }
  if (options.fidelity == Fidelity::kDatapath) {
    return run_with_values(op, sparse, gpu, options, data, kernels, saved);
  }
  VariantResult result =
      kernels.time(op, sparse, first_clock(op, sparse, switching, options, kernels));
  if (options.check_mode() != CheckMode::kNone && !op.storage.block_scaled()) {
    result.check = check_values(op, sparse, result.kernel.instruction, gpu, options, data);
  }
  if (saved != nullptr) {
    saved->add(op, sparse, result.kernel, data);
  }
  return result;
}

using Progress = std::function<void(std::size_t done)>;

/// Each operation by itself, as dense and as sparse weights go through it.
void run_each(const std::vector<workload::Operation>& operations, const gpu::GpuSpec& gpu,
              const RunOptions& options, const DataSource& values, SwitchingSource& switching,
              const Progress& report_progress, KernelRunner& kernels, ValueFiles* saved,
              std::vector<OperationResult>& results) {
  if (options.fidelity == Fidelity::kDatapath) {
    std::for_each(operations.begin(), operations.end(), require_operand_memory);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const workload::Operation& op = operations[i];
    report_progress(i);
    if (runs_dense(op, options.variants)) {
      results[i].dense = run_variant(op, false, gpu, options, values, switching, kernels, saved);
    }
    if (runs_sparse(op, options.variants)) {
      results[i].sparse = run_variant(op, true, gpu, options, values, switching, kernels, saved);
    }
  }
}

/// What is known before the first launch.
RunResult header(const workload::Workload& workload, const AskedWork& work,
                 const RunOptions& options, const gpu::GpuSpec& gpu) {
  RunResult result;
  result.workload = workload::title(workload);
  result.arch = gpu.name;
  result.fidelity = name(options.fidelity);
  result.made_by = made_by(options.fidelity, gpu.sms);
  result.options = describe(options);
  result.seed = options.seed;
  result.does_not_fit = does_not_fit(workload, work.operations, work.vectors, options, gpu);
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
  return fmt::format("{} launches of the recording are left out; the first: {}", launches,
                     first->reason);
}

void add_area(const RunOptions& options, const gpu::GpuSpec& gpu, RunResult& result) {
  result.area = gpu_area(gpu, *options.area);
  const energy::CostFactors& factors = *options.power->factors;
  result.area_bounds_mm2 =
      sum_bounds(factors.factors, factors.amounts(result.area->by_constant_mm2(), factors.area));
}

}  // namespace

RunResult run_workload(const workload::Workload& given, const config::Architecture& architecture,
                       const RunOptions& asked, const DataSource* data, const Launcher& launch,
                       const ProgressCallback& progress, SwitchingSource* switching) {
  require_consistent(asked);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const RunOptions options = with_possible_variants(asked, gpu);
  const auto taken = without_unsupported(gpu, options, given);
  const workload::Workload& workload = taken ? *taken : given;
  AskedWork work = asked_work(workload, options);
  const bool chained = workload.network.has_value() && data == nullptr;
  require_values(work.operations, chained, gpu, options);
  RunResult result = header(workload, work, options, gpu);

  KernelRunner kernels(gpu, options, launch);
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
    result.accuracy = run_network(*workload.network, work.operations, gpu, options, kernels,
                                  report_progress, result.operations);
  } else {
    run_each(work.operations, gpu, options, values, toggles, report_progress, kernels,
             saved ? &*saved : nullptr, result.operations);
  }
  report_progress(work.operations.size());
  if (options.network_engine) {
    run_inference(workload, work, gpu, options, kernels, toggles, result);
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
