// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gpu/gpu_spec.h"

#include <optional>

namespace sptc::sim {

/// What the SystemC model takes from the GPU that a design was derived from, or that it is: the
/// kernels of its library and how their times compare to those of the model.
class ShippedDesign {
 public:
  /// That of `spec`, with the library and the arithmetic of `spec`.
  explicit ShippedDesign(const GpuSpec& spec);

  /// The kernel that the SystemC model of `spec` runs for `problem`: that of the shipped design,
  /// unless it does not fit or the closed form of `spec` knows one that saves a tenth. The closed
  /// form follows the model within 7 % on average, so that less may be no gain there.
  GemmKernel kernel(const GemmProblem& problem, const KernelOverrides& overrides, bool values,
                    const GpuSpec& spec) const;

  /// How much longer a launch takes on the GPU than in the SystemC model: the main loop and overlap
  /// of the library's kernels, which were fitted to measured times (configs/CALIBRATION.md), are no
  /// part of the simulated SM. The factor is that of the shipped design, also for designs derived
  /// from it: what a changed parameter does to the time is what it does to the cycles.
  ///
  /// Ratio of the two closed forms for the kernel that the shipped design would run with
  /// `overrides`, at `clock_ratio` of its boost clock; 1 where it can run none.
  double calibration_factor(const GemmProblem& problem, const KernelOverrides& overrides,
                            bool values, double clock_ratio) const;

 private:
  std::optional<GemmKernel> shipped_kernel(const GemmProblem& problem,
                                           const KernelOverrides& overrides, bool values) const;

  GpuSpec shipped_;
};

}  // namespace sptc::sim
