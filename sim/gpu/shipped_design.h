// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_estimate.h"
#include "sim/gpu/gpu_spec.h"

#include <optional>

namespace sptc::sim {

/// The kernel of a launch in the SystemC model, and what the launch takes on the GPU: main loop,
/// first fill and overlap with DRAM of the library's kernels, which were fitted to measured times
/// (configs/CALIBRATION.md), are no part of the simulated SM.
struct CalibratedKernel {
  GemmKernel kernel;
  /// Time that the SMs take for it on the GPU over that in the model, both in closed form, on the
  /// shipped design or, where that cannot run it, of the kernel that it runs instead; none where it
  /// can run none. What a changed parameter does to the time is what it does to the cycles.
  std::optional<double> stretch;
  /// The same of the tensor cores alone: main loop on the GPU over that at the peak rate.
  double main_loop_stretch = 1;

  /// The launch in closed form, as in_sms_us() has it: SMs as those of the model, stretched, beside
  /// the DRAM of the GPU.
  KernelEstimate form(const KernelEstimate& on_gpu, const KernelEstimate& simulated) const;

  /// Time on the GPU of what takes `simulated_us` in the model, without what is outside the SMs,
  /// and for `dram_us` of which DRAM works: more than in closed form where the L2 keeps less.
  /// `on_gpu` and `simulated`: both closed forms of the launch, which say what passes beside DRAM.
  /// `ratio`: of the SM clock to the boost clock.
  double in_sms_us(double simulated_us, double dram_us, const KernelEstimate& on_gpu,
                   const KernelEstimate& simulated, double ratio) const;
};

/// What names the kernel, to be asked for on another GPU.
KernelOverrides as_overrides(const GemmKernel& kernel);

/// A GPU, and the one that it was derived from, or that it is: what the SystemC model takes from
/// that are the kernels of its library and how their times compare to those of the model.
class ShippedDesign {
 public:
  /// The shipped design gets the library and the arithmetic of `spec`.
  explicit ShippedDesign(const GpuSpec& spec);

  /// The kernel that the SystemC model of the GPU runs for `problem`: that of the shipped design,
  /// unless it does not fit or the closed form of the GPU knows one that saves a tenth. The closed
  /// form follows the model within 6 % on average, so that less may be no gain there. Throws
  /// InputError as choose_kernel() does.
  CalibratedKernel kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                          bool values) const;

 private:
  std::optional<GemmKernel> shipped_kernel(const GemmProblem& problem,
                                           const KernelOverrides& overrides, bool values) const;
  GemmKernel kept(const GemmKernel& shipped, const GemmKernel& best, const GemmProblem& problem,
                  bool values) const;

  GpuSpec gpu_;
  std::optional<GpuSpec> shipped_;  ///< where the GPU is derived
};

}  // namespace sptc::sim
