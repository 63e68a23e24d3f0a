// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/shipped_design.h"

#include "models/base/error.h"
#include "sim/gemm/kernel_choice.h"

#include <algorithm>
#include <cmath>

namespace sptc::sim {
namespace {

// Time of the kernel of the shipped design over that of the best one, from which on a derived
// design runs the best one.
constexpr double kRetuningGain = 1.1;

bool is_same(const GemmKernel& left, const GemmKernel& right) {
  return left.cta_tile == right.cta_tile && left.stages == right.stages &&
         left.split_k == right.split_k && left.decomposition == right.decomposition &&
         left.cta_group == right.cta_group && left.executed.family == right.executed.family;
}

}  // namespace

KernelOverrides as_overrides(const GemmKernel& kernel) {
  return {kernel.cta_tile, kernel.stages,    kernel.split_k,        kernel.decomposition,
          false,           kernel.cta_group, kernel.executed.family};
}

KernelEstimate CalibratedKernel::stretched_form(const KernelEstimate& on_gpu,
                                                const KernelEstimate& in_model) const {
  if (!sm_stretch) {
    return in_model;
  }
  KernelEstimate form = on_gpu;
  for (const auto in_sms :
       {&KernelEstimate::tensor_us, &KernelEstimate::shared_memory_us, &KernelEstimate::l2_us,
        &KernelEstimate::sm_port_us, &KernelEstimate::latency_us, &KernelEstimate::next_fills_us}) {
    form.*in_sms = *sm_stretch * in_model.*in_sms;
  }
  form.last_share = in_model.last_share;
  form.last_of_grid = in_model.last_of_grid;
  form.l2_overlap = in_model.l2_overlap;
  form.latency_overlap = in_model.latency_overlap;
  return form;
}

double CalibratedKernel::in_sms_us(double simulated_us, double dram_us,
                                   const KernelEstimate& on_gpu, const KernelEstimate& in_model,
                                   double ratio) const {
  if (!sm_stretch) {
    return simulated_us;
  }
  // What passes beside DRAM: the rest of the time, and at least the share that the form has.
  const double around = in_model.around_us(ratio);
  const double in_form = in_model.time_us(ratio) - in_model.outside_us();
  const double beside = std::max(simulated_us - around, simulated_us * (1 - around / in_form));
  // How much longer than in closed form is put down to the SMs as far as they make up that time:
  // not where DRAM does, which hides them.
  const double in_dram = std::max(in_model.dram_beside_us(), dram_us);
  const double sms = in_model.beside_dram_us(ratio);
  const double in_form_beside = side_by_side_us(sms, in_dram, in_model.dram_overlap);
  const double share_of_sms = std::pow(sms / in_form_beside, in_model.dram_overlap);
  const double longer = std::pow(beside / in_form_beside, share_of_sms);
  return side_by_side_us(*sm_stretch * longer * sms, on_gpu.dram_beside_us(), on_gpu.dram_overlap) +
         on_gpu.around_us(ratio);
}

ShippedDesign::ShippedDesign(const GpuSpec& spec) : gpu_(spec) {
  if (spec.fitted_design) {
    base_ = *spec.fitted_design;
    base_->kernels = spec.kernels;
    base_->numerics = spec.numerics;
  }
}

std::optional<GemmKernel> ShippedDesign::kernel_on_shipped(const GemmProblem& problem,
                                                           const KernelOverrides& overrides,
                                                           bool values) const {
  GemmProblem on_shipped = problem;
  on_shipped.pattern.reset();  // the shipped design has the pattern of its hardware alone
  try {
    return choose_kernel(on_shipped, overrides, shipped().kernel_target(), values);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

GemmKernel ShippedDesign::simulated_kernel(const GemmKernel& of_shipped,
                                           const GemmKernel& best_on_gpu,
                                           const GemmProblem& problem, bool values) const {
  const KernelTarget target = gpu_.kernel_target();
  try {
    const GemmKernel kept = choose_kernel(problem, as_overrides(of_shipped), target, values);
    const double most_us = kRetuningGain * closed_form_us(best_on_gpu, target);
    return closed_form_us(kept, target, most_us) < most_us ? kept : best_on_gpu;
  } catch (const InputError&) {
    return best_on_gpu;
  }
}

GemmKernel ShippedDesign::fitted_kernel(const GemmKernel& simulated, const GemmKernel& of_shipped,
                                        const GemmProblem& problem,
                                        const KernelOverrides& overrides, bool values) const {
  const bool retuned = !is_same(simulated, of_shipped);
  // A kernel has one stretch, whether it was chosen or named.
  GemmKernel fitted =
      retuned ? kernel_on_shipped(problem, as_overrides(simulated), values).value_or(of_shipped)
              : of_shipped;
  if (retuned || overrides.stages) {
    // Main loops were fitted with the stages that the library gives a tile. At the same occupancy,
    // what other stages do to the time is what they do to the cycles: no part of the stretch.
    KernelOverrides tile = as_overrides(fitted);
    tile.stages.reset();
    if (const auto of_library = kernel_on_shipped(problem, tile, values)) {
      fitted.stages = of_library->stages;
    }
  }
  return fitted;
}

CalibratedKernel ShippedDesign::kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                                       bool values) const {
  const GemmKernel best_on_gpu = choose_kernel(problem, overrides, gpu_.kernel_target(), values);
  const bool is_shipped = !base_ && !problem.pattern;
  const auto of_shipped = is_shipped ? best_on_gpu : kernel_on_shipped(problem, overrides, values);
  if (!of_shipped) {
    return {best_on_gpu, std::nullopt};
  }
  const GemmKernel simulated =
      base_ ? simulated_kernel(*of_shipped, best_on_gpu, problem, values) : best_on_gpu;
  const GemmKernel fitted = fitted_kernel(simulated, *of_shipped, problem, overrides, values);
  const KernelTarget target = shipped().kernel_target();
  const KernelEstimate on_gpu = estimate(fitted, target);
  const KernelEstimate in_model = simulated_estimate(fitted, target);
  return {simulated, on_gpu.beside_dram_us(1) / in_model.beside_dram_us(1),
          on_gpu.tensor_us / in_model.tensor_us};
}

}  // namespace sptc::sim
