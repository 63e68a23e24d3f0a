// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/shipped_design.h"

#include "models/base/error.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/kernel_estimate.h"

namespace sptc::sim {
namespace {

// Time of the kernel of the shipped design over that of the best one, from which on a derived
// design runs the best one.
constexpr double kRetuningGain = 1.1;

}  // namespace

ShippedDesign::ShippedDesign(const GpuSpec& spec)
    : shipped_(spec.fitted_design ? *spec.fitted_design : spec) {
  shipped_.kernels = spec.kernels;
  shipped_.numerics = spec.numerics;
}

std::optional<GemmKernel> ShippedDesign::shipped_kernel(const GemmProblem& problem,
                                                        const KernelOverrides& overrides,
                                                        bool values) const {
  GemmProblem on_shipped = problem;
  on_shipped.pattern.reset();  // the shipped design has the pattern of its hardware alone
  try {
    return choose_kernel(on_shipped, overrides, shipped_.kernel_target(), values);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

GemmKernel ShippedDesign::kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                                 bool values, const GpuSpec& spec) const {
  const KernelTarget target = spec.kernel_target();
  const GemmKernel best = choose_kernel(problem, overrides, target, values);
  const auto shipped =
      spec.fitted_design ? shipped_kernel(problem, overrides, values) : std::nullopt;
  if (!shipped) {
    return best;
  }
  try {
    const GemmKernel kept = choose_kernel(
        problem, {shipped->cta_tile, shipped->stages, shipped->split_k, shipped->decomposition},
        target, values);
    const double least_us = estimate(best, target).time_us(1);
    return estimate(kept, target).time_us(1) < kRetuningGain * least_us ? kept : best;
  } catch (const InputError&) {
    return best;
  }
}

double ShippedDesign::calibration_factor(const GemmProblem& problem,
                                         const KernelOverrides& overrides, bool values,
                                         double clock_ratio) const {
  const auto kernel = shipped_kernel(problem, overrides, values);
  if (!kernel) {
    return 1;
  }
  const KernelTarget target = shipped_.kernel_target();
  const KernelEstimate on_gpu = estimate(*kernel, target);
  const KernelEstimate simulated = simulated_estimate(*kernel, target);
  return (on_gpu.time_us(clock_ratio) - on_gpu.outside_us()) /
         (simulated.time_us(clock_ratio) - simulated.outside_us());
}

}  // namespace sptc::sim
