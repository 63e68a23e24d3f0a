// SPDX-License-Identifier: Apache-2.0
#include "sim/run/variant_run.h"

#include "models/base/error.h"
#include "sim/run/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sptc::run {
namespace {

/// Whether mma.sp of a GPU executes weights of this pattern as they are.
bool is_hardware(const RunOptions& options, numerics::DataType type, const gpu::GpuSpec& gpu) {
  const sparsity::PatternExecution execution = weights_execution(options.pattern, type, gpu);
  const sparsity::Pattern hardware = sparsity::hardware_pattern(type);
  const sparsity::WeightPattern asked = weight_pattern(options.pattern, type);
  return execution.instruction == hardware && asked.vector_rows == 0 &&
         asked.pattern.kept == hardware.kept && asked.pattern.group == hardware.group;
}

/// Checks weights at a pattern that mma.sp does not execute as they are; `d` as in check_pattern.
CheckResult check_own_pattern(const workload::Operation& op,
                              const sparsity::PatternExecution& execution, const gpu::GpuSpec& gpu,
                              const RunOptions& options, const DataSource& data,
                              const std::vector<base::Matrix<numerics::Word>>* d) {
  Arithmetic arithmetic(gpu, op.dtype, false);
  arithmetic.rules = gpu.step_rules(kernels::kernel_instruction(
      {{}, 1, op.dtype, true, execution.instruction}, gpu.kernel_target()));
  return check_pattern(options.check_mode(), op, data, weight_pattern(options.pattern, op.dtype),
                       execution, arithmetic, options.seed, d);
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
  if (own && options.check_mode() != CheckMode::kNone) {
    run.result.check = check_own_pattern(op, execution, gpu, options, data, &run.d);
  } else if (options.check_mode() != CheckMode::kNone) {
    const Arithmetic arithmetic(gpu, op.dtype, sparse);
    CheckResult check;
    check.mode = name(options.check_mode());
    for (std::size_t entry = 0; entry < operands.size(); ++entry) {
      check_datapath(options.check_mode(), operands[entry], run.d[entry], arithmetic,
                     static_cast<std::int64_t>(entry), options.seed, check);
    }
    run.result.check = std::move(check);
  }
  if (saved != nullptr) {
    saved->add({op, sparse, run.result.kernel, operands, &run.d});
  }
  return std::move(run.result);
}

CheckResult check_values(const workload::Operation& op, bool sparse,
                         const mma::MmaInstruction& instruction, const gpu::GpuSpec& gpu,
                         const RunOptions& options, const DataSource& data) {
  if (!sparse || is_hardware(options, op.dtype, gpu)) {
    return check_timing(options.check_mode(), op, sparse, data, {gpu, op.dtype, sparse},
                        options.seed);
  }
  return check_own_pattern(op, weights_execution(options.pattern, instruction, gpu), gpu, options,
                           data, nullptr);
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

}  // namespace

bool runs_dense(const workload::Operation& op, Variants variants) {
  return variants != Variants::kSparse || !op.prunable;
}
bool runs_sparse(const workload::Operation& op, Variants variants) {
  return variants != Variants::kDense && op.prunable;
}

bool saves_values(const RunOptions& options) {
  return !options.save_operands.empty() || !options.save_d.empty();
}

void require_values(const std::vector<workload::Operation>& operations, bool chained,
                    const gpu::GpuSpec& gpu, const RunOptions& options) {
  if (!options.pattern) {
    return;
  }
  const auto is_own = [&](const workload::Operation& op) {
    return runs_sparse(op, options.variants) && !is_hardware(options, op.dtype, gpu);
  };
  if (saves_values(options) && std::any_of(operations.begin(), operations.end(), is_own)) {
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

}  // namespace sptc::run
