// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/clock_policy.h"
#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/gpu/timer.h"
#include "sim/kernels/kernel_estimate.h"

#include <map>
#include <utility>
#include <vector>

namespace sptc::gpu {

/// The same choice of kernel as GemmSimulator::run, timed by closed forms (KernelEstimate): no
/// SystemC, no values.
class ClosedFormTimer : public Timer {
 public:
  /// `gpu` and `clock`, as it is at each launch, must outlive it.
  ClosedFormTimer(const GpuSpec& gpu, const ClockPolicy& clock) : gpu_(gpu), clock_(clock) {}

 private:
  GemmRun launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                 const std::vector<kernels::GemmOperands>* operands) override;

  struct Form {
    kernels::GemmKernel kernel;
    kernels::KernelEstimate times;
    kernels::MemoryTraffic traffic;
  };
  std::vector<Form> forms_of(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides) const;
  GemmRun run_of(const Form& form, double clock_mhz) const;

  const GpuSpec& gpu_;
  const ClockPolicy& clock_;
  std::map<std::pair<kernels::GemmProblem, kernels::KernelOverrides>, std::vector<Form>> forms_;
};

/// Times one launch.
GemmRun analytic_gemm(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                      const GpuSpec& gpu, const ClockPolicy& clock);

/// Throws InputError where the selector of `gpu` is too narrow for the pattern of a sparse problem.
void require_selector(const kernels::GemmProblem& problem, const GpuSpec& gpu);

/// Throws InputError where events cannot simulate the kernel: values of an instruction that no GPU
/// has, or weights whose blocks of rows each gather columns of B of their own.
void require_simulated(const kernels::GemmKernel& kernel, bool values);

/// Throws InputError for an instruction that neither the architecture nor the one whose arithmetic
/// is asked for has.
void require_instruction(const mma::MmaInstruction& instruction, const GpuSpec& gpu);

}  // namespace sptc::gpu
