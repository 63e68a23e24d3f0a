// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_library_spec.h"
#include "sim/gemm/kernel_target.h"

namespace sptc::sim {

/// One launch in closed form: what each resource needs by itself [us at the boost clock, DRAM at
/// its own], and what cannot overlap.
struct KernelEstimate {
  double tensor_us = 0;         ///< tensor cores of the busiest SM, as the simulated SM runs
  double main_loop_us = 0;      ///< the same at the rate that the library's main loop reaches
  double shared_memory_us = 0;  ///< of the busiest SM
  double l2_us = 0;
  double dram_us = 0;
  double latency_us = 0;  ///< k-tiles one behind the other, as many under way as there are stages
  double fill_us = 0;     ///< first tiles arrive, last results leave, for each round of CTAs
  double simulated_fill_us = 0;  ///< the same where no kernel is persistent
  double launch_us = 0;          ///< of one kernel or, with split-K, of two
  double reduction_us = 0;       ///< summing the slices of split-K
  double mean_tensor_us = 0;     ///< tensor cores of the mean SM
  double overlap_exponent = 1;

  /// On the GPU, at a clock that is `ratio` of the boost clock.
  double time_us(double ratio) const;
  /// In the simulator, whose resources overlap nearly perfectly (tests/fidelity).
  double simulated_time_us(double ratio) const;
  /// What neither launches nor waits for them.
  double outside_us() const { return launch_us + reduction_us; }
  /// Share of the launch in which the mean tensor core multiplies, at the boost clock.
  double utilization() const { return mean_tensor_us / time_us(1); }
};

KernelEstimate estimate(const GemmKernel& kernel, const KernelTarget& target);

/// SM clock under sustained load, as a share of the boost clock: 1 up to the knee, then
/// (knee / utilization) ^ exponent.
double sustained_clock_ratio(double utilization, const KernelLibrarySpec& library);

/// The kernel that the library would run for `problem`: the candidate with the least estimated
/// time, weighed with the library's preferences; or what `overrides` say. With `values` the kernels
/// whose values the data path can carry: those that do not cut K. Throws InputError for an override
/// that does not fit, or for a type without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const KernelTarget& target, bool values);

}  // namespace sptc::sim
