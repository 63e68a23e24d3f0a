// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_estimate.h"
#include "sim/gpu/gpu_spec.h"

#include <optional>

namespace sptc::sim {

// How the cycles of the SystemC model become a time. Main loop, first fill and overlap with DRAM of
// the library's kernels, which were fitted to measured times (configs/CALIBRATION.md), are no part
// of the simulated SM. So each launch has two closed forms (sim/gemm/kernel_estimate.h), and what
// they differ by stretches the cycles:
//
//   form                       its kernel, on the GPU        `fitted`, on the shipped design
//   on_gpu   = estimate()      what becomes the time:        numerators of the stretches
//   in_model = simulated_      stretched_form(),             denominators of the stretches
//              estimate()      in_sms_us()
//
// The GPU is the design that is asked about; the shipped design the one that it was derived from,
// or itself: constants were fitted there. ShippedDesign::kernel() has four kernels in hand:
//
//   best_on_gpu   the fastest of the library on the GPU, in closed form
//   of_shipped    the fastest of the library on the shipped design
//   simulated     what SystemC runs on the GPU: best_on_gpu, but on a derived one of_shipped where
//                 that fits and best_on_gpu does not gain a tenth
//   fitted        what stands for `simulated` on the shipped design, whose sparsity has the pattern
//                 of its hardware: the same kernel, or of_shipped where it cannot run that; with
//                 the library's stages for the tile where the launch has others

/// The kernel of a launch in the SystemC model, and how its time there becomes that on the GPU.
struct CalibratedKernel {
  GemmKernel kernel;
  /// Time that the SMs of the shipped design take for the fitted kernel on the GPU over that in the
  /// model, both in closed form; none where it can run none. What a changed parameter does to the
  /// time is what it does to the cycles.
  std::optional<double> sm_stretch;
  /// The same of the tensor cores alone: main loop on the GPU over that at the peak rate.
  double main_loop_stretch = 1;

  /// The launch in closed form, as in_sms_us() has it: SMs as those of the model, stretched, beside
  /// the DRAM of the GPU.
  KernelEstimate stretched_form(const KernelEstimate& on_gpu, const KernelEstimate& in_model) const;

  /// Time on the GPU of what takes `simulated_us` in SystemC, without what is outside the SMs,
  /// and for `dram_us` of which DRAM works: more than in closed form where the L2 keeps less.
  /// `on_gpu` and `in_model`: both closed forms of the launch, which say what passes beside DRAM.
  /// `ratio`: of the SM clock to the boost clock.
  double in_sms_us(double simulated_us, double dram_us, const KernelEstimate& on_gpu,
                   const KernelEstimate& in_model, double ratio) const;
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
  /// What the library has for `problem` on the shipped design; nothing where that can run none.
  std::optional<GemmKernel> kernel_on_shipped(const GemmProblem& problem,
                                              const KernelOverrides& overrides, bool values) const;
  /// Of a derived GPU: `of_shipped`, or `best_on_gpu` where that does not fit or gains a tenth.
  GemmKernel simulated_kernel(const GemmKernel& of_shipped, const GemmKernel& best_on_gpu,
                              const GemmProblem& problem, bool values) const;
  /// The kernel of the shipped design whose stretches are those of `simulated`.
  GemmKernel fitted_kernel(const GemmKernel& simulated, const GemmKernel& of_shipped,
                           const GemmProblem& problem, const KernelOverrides& overrides,
                           bool values) const;
  const GpuSpec& shipped() const { return base_ ? *base_ : gpu_; }

  GpuSpec gpu_;
  std::optional<GpuSpec> base_;  ///< that the GPU is derived from, where it is
};

}  // namespace sptc::sim
