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

KernelEstimate CalibratedKernel::form(const KernelEstimate& on_gpu,
                                      const KernelEstimate& simulated) const {
  if (!stretch) {
    return simulated;
  }
  KernelEstimate form = on_gpu;
  for (const auto in_sms :
       {&KernelEstimate::tensor_us, &KernelEstimate::shared_memory_us, &KernelEstimate::l2_us,
        &KernelEstimate::sm_port_us, &KernelEstimate::latency_us, &KernelEstimate::next_fills_us}) {
    form.*in_sms = *stretch * simulated.*in_sms;
  }
  form.last_share = simulated.last_share;
  form.last_of_grid = simulated.last_of_grid;
  form.l2_overlap = simulated.l2_overlap;
  form.latency_overlap = simulated.latency_overlap;
  return form;
}

double CalibratedKernel::in_sms_us(double simulated_us, double dram_us,
                                   const KernelEstimate& on_gpu, const KernelEstimate& simulated,
                                   double ratio) const {
  if (!stretch) {
    return simulated_us;
  }
  // What passes beside DRAM: the rest of the time, and at least the share that the form has.
  const double around = simulated.around_us(ratio);
  const double in_form = simulated.time_us(ratio) - simulated.outside_us();
  const double beside = std::max(simulated_us - around, simulated_us * (1 - around / in_form));
  // How much longer than in closed form is put down to the SMs as far as they make up that time:
  // not where DRAM does, which hides them.
  const double in_dram = std::max(simulated.dram_beside_us(), dram_us);
  const double sms = simulated.beside_dram_us(ratio);
  const double in_form_beside = side_by_side_us(sms, in_dram, simulated.dram_overlap);
  const double share_of_sms = std::pow(sms / in_form_beside, simulated.dram_overlap);
  const double longer = std::pow(beside / in_form_beside, share_of_sms);
  return side_by_side_us(*stretch * longer * sms, on_gpu.dram_beside_us(), on_gpu.dram_overlap) +
         on_gpu.around_us(ratio);
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
    const GemmKernel kept = choose_kernel(problem, as_overrides(shipped), target, values);
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
  const GemmKernel runs = shipped_ ? kept(*shipped, best, problem, values) : best;
  const bool retuned = shipped_ && !problem.pattern && !is_same(runs, *shipped);
  // A kernel has one stretch, whether it was chosen or named.
  GemmKernel compared =
      retuned ? shipped_kernel(problem, as_overrides(runs), values).value_or(*shipped) : *shipped;
  if (retuned || overrides.stages) {
    // Main loops were fitted with the stages that the library gives a tile. At the same occupancy,
    // what other stages do to the time is what they do to the cycles: no part of the stretch.
    KernelOverrides tile = as_overrides(compared);
    tile.stages.reset();
    if (const auto of_library = shipped_kernel(problem, tile, values)) {
      compared.stages = of_library->stages;
    }
  }
  const KernelTarget target = (shipped_ ? *shipped_ : gpu_).kernel_target();
  const KernelEstimate on_gpu = estimate(compared, target);
  const KernelEstimate simulated = simulated_estimate(compared, target);
  return {runs, on_gpu.beside_dram_us(1) / simulated.beside_dram_us(1),
          on_gpu.tensor_us / simulated.tensor_us};
}

}  // namespace sptc::sim
