// SPDX-License-Identifier: Apache-2.0
#include "sim/run/kernel_runner.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/run/peaks.h"
#include "sim/workload/vector_operation.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace sptc::run {

std::optional<numerics::DataType> type_of_d(const workload::Operation& op, const SimulationOptions& options) {
  if (op.d_dtype || options.d_dtype) {
    return op.d_dtype ? op.d_dtype : options.d_dtype;
  }
  return options.dtype ? std::nullopt : numerics::parse_data_type(op.recorded.d_dtype);
}

void add_beside_operands(const BesideOperands& bytes, const gpu::GpuSpec& gpu, VariantResult& figures) {
  if (bytes.read + bytes.written <= 0) {
    return;
  }
  const double mhz = gpu.boost_clock_mhz;
  kernels::KernelEstimate& form = figures.timing.clock_scaling.form;
  const double ratio = figures.timing.clock_mhz / mhz;
  const double before = form.time_us(ratio);
  form.dram_us += (bytes.from_dram + bytes.written) / (gpu.memory.dram_bytes_per_cycle(mhz) * mhz);
  form.l2_us += (bytes.read + bytes.written) / gpu.memory.l2_bytes_per_cycle / mhz;
  const double more_us = form.time_us(ratio) - before;
  figures.timing.time_us += more_us;
  figures.timing.cycles += std::llround(more_us * figures.timing.clock_mhz);
  memory::MemoryBytes& moved = figures.traffic.memory.l2_and_dram;
  moved.l2_read += std::llround(bytes.read);
  moved.dram_read += std::llround(bytes.from_dram);
  moved.l2_written += std::llround(bytes.written);
  moved.dram_written += std::llround(bytes.written);
}

kernels::GemmProblem KernelRunner::widest_problem(const workload::Operation& op, bool sparse) const {
  kernels::GemmProblem result{op.shape, op.batch, op.dtype, sparse};
  result.distinct_b = op.distinct_b();
  result.conditions = op.conditions.value_or(options_.conditions);
  result.conditions.layout = options_.conditions.layout;
  if (sparse && options_.sparse_algorithm) {
    result.conditions.algorithm = *options_.sparse_algorithm;
  }
  result.d_dtype = type_of_d(op, options_);
  result.epilogue_operations =
      op.epilogue_operations + workload::epilogue_operations(workload::epilogue_of(op.recorded).operations);
  result.storage = op.storage;
  if (sparse) {
    // A group that K does not fill is completed with zeros; the figures count the K of the
    // operation.
    const sparsity::PatternExecution execution = weights_execution(options_.pattern, op.dtype, gpu_);
    result.shape.k = execution.executed_k(op.shape.k);
    if (execution.instruction != sparsity::hardware_pattern(op.dtype)) {
      result.pattern = execution.instruction;
    }
    result.vector_rows = execution.vector_rows;
    result.source_k = base::round_up(op.shape.k, execution.group);
  }
  return result;
}

kernels::GemmProblem KernelRunner::problem(const workload::Operation& op, bool sparse) const {
  const kernels::GemmProblem widest = widest_problem(op, sparse);
  return leave_selector_.contains(widest) ? *kernels::without_wide_selector(widest) : widest;
}

kernels::GemmProblem KernelRunner::problem(const workload::Operation& op, bool sparse,
                                           const mma::MmaInstruction& instruction) const {
  const kernels::GemmProblem widest = widest_problem(op, sparse);
  const auto narrow = kernels::without_wide_selector(widest);
  const bool used = !narrow || instruction.sparse_pattern() == *widest.pattern;
  return used ? widest : *narrow;
}

bool KernelRunner::may_leave_selector(const workload::Operation& op) const {
  return kernels::without_wide_selector(widest_problem(op, true)).has_value();
}

void KernelRunner::leave_selector(const workload::Operation& op, bool leave) {
  const kernels::GemmProblem widest = widest_problem(op, true);
  if (leave) {
    leave_selector_.insert(widest);
  } else {
    leave_selector_.erase(widest);
  }
}

sparsity::PatternExecution KernelRunner::execution(const workload::Operation& op) const {
  return weights_execution(options_.pattern, kernels::kernel_instruction(problem(op, true), gpu_.kernel_target()),
                           gpu_);
}

VariantResult KernelRunner::figures(const workload::Operation& op, bool sparse, const gpu::GemmRun& run) const {
  base::ensure(run.cycles > 0 && run.issued_macs > 0, "a launch took no cycles or issued nothing");
  const sparsity::Pattern pattern = options_.pattern ? options_.pattern->pattern : sparsity::hardware_pattern(op.dtype);
  const double macs = static_cast<double>(op.shape.macs()) * static_cast<double>(op.batch);
  const double share = sparse ? static_cast<double>(pattern.kept) / pattern.group : 1;
  const double executed = macs * share;
  const auto cycles = static_cast<double>(run.cycles);

  VariantResult result;
  result.kernel = run.kernel;
  result.runner_up = run.runner_up;
  result.timing.simulated = run.simulated;
  result.timing.cycles = run.cycles;
  result.timing.clock_mhz = run.clock_mhz;
  result.timing.clock_scaling = run.clock_scaling;
  result.timing.launch_us = run.launch_us;
  result.timing.time_us = cycles / result.timing.clock_mhz + result.timing.launch_us;
  result.timing.tflops = 2 * macs / result.timing.time_us * 1e-6;
  result.timing.utilization =
      executed / (cycles * gpu_.sms * peak_macs_per_sm_and_cycle(gpu_, {op.dtype, op.storage.operand_block()}));
  result.timing.padding = 1 - executed / static_cast<double>(run.issued_macs);
  result.traffic.activity = run.activity;
  result.explanation.stalls = run.stalls;
  result.traffic.memory = run.traffic;
  result.traffic.memory.l2_and_dram += run.reduction.moved();
  result.timing.budget = run.budget;
  result.timing.budget.reduction = run.clock_scaling.form.reduction_us() * run.clock_mhz;
  result.timing.executed_share = share;
  result.design = design_cost(gpu_, run.kernel.instruction);
  add_beside_operands(beside_operands(op), gpu_, result);
  return result;
}

BesideOperands KernelRunner::beside_operands(const workload::Operation& op) const {
  const workload::Epilogue epilogue = workload::epilogue_of(op.recorded);
  const kernels::GemmProblem what = problem(op, false);
  const double elements = base::product({op.shape.m, op.shape.n, op.batch});
  const double tensor = elements * kernels::output_bits(what) / 8, mask = elements / 8;
  BesideOperands bytes;
  bytes.read = (epilogue.reads_tensor ? tensor : 0) + (epilogue.reads_mask ? mask : 0);
  const bool warm = what.conditions.l2.kind == kernels::L2State::Kind::kWarm &&
                    bytes.read < static_cast<double>(gpu_.memory.l2_capacity.count());
  bytes.from_dram = warm ? 0 : bytes.read;
  bytes.written = (epilogue.writes_tensor ? tensor : 0) + (epilogue.writes_mask ? mask : 0);
  return bytes;
}

KernelRunner::OperationId KernelRunner::id_of(const workload::Operation& op) {
  const workload::Recorded& recorded = op.recorded;
  return {op.name,         op.shape.m,      op.shape.n,      op.shape.k,       op.batch,         recorded.tile.m,
          recorded.tile.n, recorded.tile.k, recorded.stages, recorded.split_k, recorded.epilogue};
}

std::optional<kernels::KernelOverrides> KernelRunner::recorded_kernel(const workload::Operation& op,
                                                                      bool sparse) const {
  const workload::Recorded& recorded = op.recorded;
  kernels::KernelOverrides kernel = options_.kernel;
  const bool user_chose = kernel.cta_tile || kernel.stages || kernel.split_k || kernel.decomposition;
  if (!recorded.steers() || recorded.sparse != sparse || user_chose || options_.dtype || refused_.contains(id_of(op))) {
    return std::nullopt;
  }
  kernel.search = false;
  if (recorded.tile.k > 0) {
    kernel.cta_tile = recorded.tile;
  }
  if (recorded.stages > 0) {
    kernel.stages = recorded.stages;
  }
  if (recorded.split_k > 0) {
    kernel.split_k = recorded.split_k;
  }
  return kernel;
}

gpu::GemmRun KernelRunner::launch(const workload::Operation& op, bool sparse, const kernels::GemmProblem& what,
                                  const std::vector<kernels::GemmOperands>* operands) {
  if (const auto recorded = recorded_kernel(op, sparse)) {
    try {
      gpu::GemmRun run = timer_.time(what, *recorded, operands);
      as_recorded_.insert(id_of(op));
      return run;
    } catch (const base::InputError& error) {
      refused_.emplace(id_of(op), error.what());
    }
  }
  return timer_.time(what, options_.kernel, operands);
}

std::vector<std::string> KernelRunner::notes() const {
  std::vector<std::string> notes;
  if (!as_recorded_.empty()) {
    notes.push_back(fmt::format("{} of the operations ran with the tile, stages and split-K that the recording names",
                                as_recorded_.size()));
  }
  if (!refused_.empty()) {
    const auto& [id, why] = *refused_.begin();
    notes.push_back(
        fmt::format("the recorded kernels of {} operations do not fit {}, so others "
                    "are simulated; the first, '{}': {}",
                    refused_.size(), gpu_.name, io::printable(std::get<0>(id)), why));
  }
  return notes;
}

VariantResult KernelRunner::time(const workload::Operation& op, bool sparse, double clock_mhz) {
  kernels::GemmProblem what = problem(op, sparse);
  what.conditions.clock_mhz = clock_mhz;
  return figures(op, sparse, launch(op, sparse, what, nullptr));
}

VariantResult KernelRunner::closed_form(const workload::Operation& op, bool sparse) const {
  const kernels::GemmProblem what = problem(op, sparse);
  return figures(op, sparse, gpu::analytic_gemm(what, options_.kernel, gpu_, {}));
}

WhatIf KernelRunner::what_if(const workload::Operation& op, bool sparse, const VariantResult& launch) const {
  return run::what_if(problem(op, sparse, launch.kernel.instruction), launch.kernel, launch.timing.clock_mhz, gpu_);
}

double KernelRunner::closed_form_us(const workload::Operation& op, bool sparse, const VariantResult& launch,
                                    const gpu::GpuSpec& gpu) const {
  return run::closed_form_us(problem(op, sparse, launch.kernel.instruction), launch.kernel, launch.timing.clock_mhz,
                             gpu);
}

KernelRunner::ValueRun KernelRunner::compute(const workload::Operation& op, bool sparse,
                                             const std::vector<kernels::GemmOperands>& operands) {
  gpu::GemmRun run = launch(op, sparse, problem(op, sparse), &operands);
  base::ensure(run.d.size() == operands.size(), "a launch with operands returned no D");
  VariantResult result = figures(op, sparse, run);
  return {std::move(result), std::move(run.d)};
}

}  // namespace sptc::run
