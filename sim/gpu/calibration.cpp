// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/calibration.h"

#include "models/base/error.h"

namespace sptc::sim {

Calibration::Calibration(const GpuSpec& spec)
    : fitted_(spec.fitted_design ? *spec.fitted_design : spec) {
  fitted_.kernels = spec.kernels;
  fitted_.numerics = spec.numerics;
}

double Calibration::factor(const GemmProblem& problem, const KernelOverrides& overrides,
                           bool values, double clock_ratio) const {
  GemmProblem on_shipped = problem;
  on_shipped.pattern.reset();  // the shipped design has the pattern of its hardware alone
  const KernelTarget target = fitted_.kernel_target();
  try {
    const GemmKernel kernel = choose_kernel(on_shipped, overrides, target, values);
    const KernelEstimate on_gpu = estimate(kernel, target);
    const KernelEstimate simulated = simulated_estimate(kernel, target);
    return (on_gpu.time_us(clock_ratio) - on_gpu.outside_us()) /
           (simulated.time_us(clock_ratio) - simulated.outside_us());
  } catch (const InputError&) {
    return 1;
  }
}

}  // namespace sptc::sim
