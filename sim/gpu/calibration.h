// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"

namespace sptc::sim {

/// How much longer a launch takes on the GPU than in the SystemC model: the main loop and overlap
/// of the library's kernels, which were fitted to measured times (configs/CALIBRATION.md), are no
/// part of the simulated SM. The factor is that of the shipped design, also for designs derived
/// from it: what a changed parameter does to the time is what it does to the cycles.
class Calibration {
 public:
  explicit Calibration(const GpuSpec& spec);

  /// Ratio of the two closed forms for the kernel that the shipped design would run with
  /// `overrides`, at `clock_ratio` of its boost clock; 1 where it can run none.
  double factor(const GemmProblem& problem, const KernelOverrides& overrides, bool values,
                double clock_ratio) const;

 private:
  GpuSpec fitted_;
};

}  // namespace sptc::sim
