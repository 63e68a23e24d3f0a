// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/weight_pattern.h"
#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/gpu/timer.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sptc::run {

/// The type of D in memory: the operation's own, that of `options`, or the recorded one where
/// `options` leave the type of the operands alone; nothing: as GemmProblem says.
std::optional<numerics::DataType> type_of_d(const workload::Operation& op, const SimulationOptions& options);

/// Bytes that the epilogue of a GEMM moves beside its operands and D.
struct BesideOperands {
  double read = 0;       ///< that the SMs read
  double from_dram = 0;  ///< of those, what the L2 does not hold
  double written = 0;    ///< to L2 and DRAM
};

/// Lets them pass L2 and DRAM beside the operands of a launch: its closed form says how much longer
/// that takes.
void add_beside_operands(const BesideOperands& bytes, const gpu::GpuSpec& gpu, VariantResult& figures);

/// Launches the kernels of a run and turns cycles into the figures of the report.
class KernelRunner {
 public:
  /// All three must outlive it.
  KernelRunner(const gpu::GpuSpec& gpu, const SimulationOptions& options, gpu::Timer& timer)
      : gpu_(gpu), options_(options), timer_(timer) {}

  /// Cycles only, at `clock_mhz`, or 0 for the clock of the run.
  VariantResult time(const workload::Operation& op, bool sparse, double clock_mhz = 0);

  /// Figures in closed form, at the boost clock.
  VariantResult closed_form(const workload::Operation& op, bool sparse) const;

  /// Gains of `launch`, which time() or compute() returned, at the clock that it has.
  WhatIf what_if(const workload::Operation& op, bool sparse, const VariantResult& launch) const;

  /// The same launch in closed form on `gpu`.
  double closed_form_us(const workload::Operation& op, bool sparse, const VariantResult& launch,
                        const gpu::GpuSpec& gpu) const;

  struct ValueRun {
    VariantResult result;
    std::vector<base::Matrix<numerics::Word>> d;  ///< per batch entry [m, n]
  };
  /// Whether 2:4 hardware runs the sparse weights of `op`, too, which have a wider selector here.
  bool may_leave_selector(const workload::Operation& op) const;
  /// Makes operations like `op` leave the wider selector unused, or use it, as they do first.
  void leave_selector(const workload::Operation& op, bool leave);
  sparsity::PatternExecution execution(const workload::Operation& op) const;

  /// Simulates values: one GemmOperands per batch entry, sparse ones as execution() has them.
  ValueRun compute(const workload::Operation& op, bool sparse, const std::vector<kernels::GemmOperands>& operands);

  /// Which launches had the kernels that a recording names, and which could not; for the report.
  std::vector<std::string> notes() const;

 private:
  using OperationId = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, int, int, std::string>;
  static OperationId id_of(const workload::Operation& op);
  kernels::GemmProblem problem(const workload::Operation& op, bool sparse) const;
  /// The problem where every selector is used as far as it reaches.
  kernels::GemmProblem widest_problem(const workload::Operation& op, bool sparse) const;
  /// The problem as a kernel of `instruction` ran it.
  kernels::GemmProblem problem(const workload::Operation& op, bool sparse,
                               const mma::MmaInstruction& instruction) const;
  /// What the epilogue of a recorded launch reads and writes beside D.
  BesideOperands beside_operands(const workload::Operation& op) const;
  /// The kernel that the recording names; nothing where it says none, or the user's options go
  /// before it.
  std::optional<kernels::KernelOverrides> recorded_kernel(const workload::Operation& op, bool sparse) const;
  /// Launches the recorded kernel where it fits.
  gpu::GemmRun launch(const workload::Operation& op, bool sparse, const kernels::GemmProblem& what,
                      const std::vector<kernels::GemmOperands>* operands);
  VariantResult figures(const workload::Operation& op, bool sparse, const gpu::GemmRun& run) const;

  const gpu::GpuSpec& gpu_;
  const SimulationOptions& options_;
  gpu::Timer& timer_;
  std::set<kernels::GemmProblem> leave_selector_;  ///< widest_problem() of operations that do
  std::set<OperationId> as_recorded_;
  std::map<OperationId, std::string> refused_;  ///< whose kernel does not fit, and why
};

}  // namespace sptc::run
