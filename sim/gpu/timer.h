// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gemm_run.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_overrides.h"

#include <functional>
#include <utility>
#include <vector>

namespace sptc::kernels {
struct GemmOperands;
}  // namespace sptc::kernels

namespace sptc::gpu {

/// Times launches of GEMMs on one GPU: by events of SystemC (run::SystemCTimer) or in closed form
/// (ClosedFormTimer).
class Timer {
 public:
  /// Sees a launch before it is timed, and may change its kernel. What it throws ends the run.
  using Hook = std::function<void(const kernels::GemmProblem&, kernels::KernelOverrides&)>;

  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;

  void before_each(Hook hook) { hook_ = std::move(hook); }

  /// Times one launch, at the clock of the problem or else that of the run. `operands`, one per
  /// batch entry, travel through the simulated data path, which returns D; null: no values.
  /// Throws InputError where the GPU has no such kernel.
  GemmRun time(const kernels::GemmProblem& problem, kernels::KernelOverrides overrides,
               const std::vector<kernels::GemmOperands>* operands) {
    if (hook_) {
      hook_(problem, overrides);
    }
    return launch(problem, overrides, operands);
  }

 private:
  virtual GemmRun launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                         const std::vector<kernels::GemmOperands>* operands) = 0;

  Hook hook_;
};

}  // namespace sptc::gpu
