// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/shipped_design.h"

#include "models/base/error.h"
#include "sim/gemm/kernel_choice.h"

namespace sptc::sim {
namespace {

// Time of the kernel of the shipped design over that of the best one, from which on a derived
// design runs the best one.
constexpr double kRetuningGain = 1.1;

}  // namespace

double CalibratedKernel::calibration_factor(double clock_ratio) const {
  if (!shipped) {
    return 1;
  }
  const auto in_sms = [clock_ratio](const KernelEstimate& form) {
    return form.time_us(clock_ratio) - form.outside_us();
  };
  return in_sms(shipped->on_gpu) / in_sms(shipped->simulated);
}

ShippedDesign::ShippedDesign(const GpuSpec& spec) : gpu_(spec) {
  if (spec.fitted_design) {
    shipped_ = *spec.fitted_design;
    shipped_->kernels = spec.kernels;
    shipped_->numerics = spec.numerics;
  }
}

std::optional<GemmKernel> ShippedDesign::shipped_kernel(const GemmProblem& problem,
                                                        const KernelOverrides& overrides,
                                                        bool values) const {
  GemmProblem on_shipped = problem;
  on_shipped.pattern.reset();  // the shipped design has the pattern of its hardware alone
  try {
    const GpuSpec& shipped = shipped_ ? *shipped_ : gpu_;
    return choose_kernel(on_shipped, overrides, shipped.kernel_target(), values);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

GemmKernel ShippedDesign::kept(const GemmKernel& shipped, const GemmKernel& best,
                               const GemmProblem& problem, bool values) const {
  const KernelTarget target = gpu_.kernel_target();
  try {
    const GemmKernel kept = choose_kernel(
        problem, {shipped.cta_tile, shipped.stages, shipped.split_k, shipped.decomposition}, target,
        values);
    const double least_us = estimate(best, target).time_us(1);
    return estimate(kept, target).time_us(1) < kRetuningGain * least_us ? kept : best;
  } catch (const InputError&) {
    return best;
  }
}

CalibratedKernel ShippedDesign::kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                                       bool values) const {
  const GemmKernel best = choose_kernel(problem, overrides, gpu_.kernel_target(), values);
  const bool is_shipped = !shipped_ && !problem.pattern;
  const auto shipped = is_shipped ? best : shipped_kernel(problem, overrides, values);
  if (!shipped) {
    return {best, std::nullopt};
  }
  const KernelTarget target = (shipped_ ? *shipped_ : gpu_).kernel_target();
  return {
      shipped_ ? kept(*shipped, best, problem, values) : best,
      CalibratedKernel::Forms{estimate(*shipped, target), simulated_estimate(*shipped, target)}};
}

}  // namespace sptc::sim
