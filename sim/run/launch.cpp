// SPDX-License-Identifier: Apache-2.0
//
// The way of one launch, from an operation of the workload to its figures in the report:
//
//   kernel  what the library has for the problem (sim/kernels/kernel_choice.h)    run_variant()
//   clock   the first guess at what the power limit allows                        first_clock()
//   time    by a gpu::Timer: SystemCTimer or ClosedFormTimer                      KernelRunner
//   check   values beside the reference                                           check.h
//   energy  of the events that were counted, at the clock that they then allow    add_energy()
#include "models/sparsity/weight_pattern.h"
#include "sim/run/check.h"
#include "sim/run/run_parts.h"
#include "sim/run/value_files.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

/// Launches with values, which --fidelity datapath computes.
VariantResult launch_with_values(const workload::Operation& op, bool sparse, const LaunchContext& run) {
  const bool own = sparse && !is_hardware(run.options, op.dtype, run.gpu);
  const auto execution = own ? run.kernels.execution(op) : sparsity::PatternExecution{};
  std::vector<kernels::GemmOperands> operands;
  for (std::int64_t entry = 0; entry < op.batch; ++entry) {
    operands.push_back(
        own ? pattern_operands(op, run.data, weight_pattern(run.options.pattern, op.dtype), execution, entry)
            : make_operands(op, sparse, run.data, entry));
  }
  KernelRunner::ValueRun launch = run.kernels.compute(op, sparse, operands);
  if (run.options.check_mode() != CheckMode::kNone) {
    launch.result.check = own ? check_own_pattern(op, execution, run.gpu, run.options, run.data, &launch.d)
                              : check_entries(operands, launch.d, {run.gpu, op.dtype, sparse}, run.options);
  }
  if (run.saved != nullptr) {
    run.saved->add({op, sparse, launch.result.kernel, operands, &launch.d});
  }
  return std::move(launch.result);
}

/// Launches in time alone; what is checked and saved is computed beside it.
VariantResult launch_in_time(const workload::Operation& op, bool sparse, const LaunchContext& run) {
  const double mhz = first_clock(op, sparse, run.switching, run.options, run.kernels);
  VariantResult result = run.kernels.time(op, sparse, mhz);
  if (run.options.check_mode() != CheckMode::kNone && !op.storage.block_scaled()) {
    result.check = check_values(op, sparse, result.kernel.instruction, run.gpu, run.options, run.data);
  }
  if (run.saved != nullptr) {
    run.saved->add(op, sparse, result.kernel, run.data);
  }
  return result;
}

/// Weights that 2:4 hardware runs, too, take the faster way, at the clock that the power allows.
void choose_execution(const workload::Operation& op, const LaunchContext& run) {
  if (run.options.kernel.cta_tile || !run.kernels.may_leave_selector(op)) {
    return;
  }
  const auto time_us = [&](bool leave) {
    run.kernels.leave_selector(op, leave);
    if (run.options.fidelity == Fidelity::kDatapath) {
      return run.kernels.closed_form(op, true).timing.time_us;  // one launch alone is observed
    }
    const double mhz = first_clock(op, true, run.switching, run.options, run.kernels);
    VariantResult figures = run.kernels.time(op, true, mhz);
    if (run.options.power) {
      add_launch_energy(op, true, run.switching, run.options, run.kernels, figures);
    }
    return figures.timing.time_us;
  };
  const double used = time_us(false);
  run.kernels.leave_selector(op, time_us(true) < used);
}

}  // namespace

VariantResult run_variant(const workload::Operation& op, bool sparse, const LaunchContext& run) {
  if (sparse) {
    choose_execution(op, run);
  }
  VariantResult figures = run.options.fidelity == Fidelity::kDatapath ? launch_with_values(op, sparse, run)
                                                                      : launch_in_time(op, sparse, run);
  if (run.options.power && !run.options.limits_group()) {
    add_launch_energy(op, sparse, run.switching, run.options, run.kernels, figures);
  }
  return figures;
}

}  // namespace sptc::run
