// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "sim/gpu/clock_policy.h"
#include "sim/gpu/cycle_budget.h"
#include "sim/gpu/stall_shares.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_result.h"
#include "sim/kernels/traffic_counts.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::gpu {

/// What a launch was, simulated or in closed form, without its values.
struct LaunchFigures {
  kernels::KernelResult kernel;
  std::optional<kernels::RunnerUp> runner_up;  ///< of kernels that were searched, where two fit
  kernels::SimulatedCycles simulated;
  std::int64_t cycles = 0;  ///< first CTA to start to last one to end
  double clock_mhz = 0;     ///< of the SMs
  double launch_us = 0;     ///< beside the cycles: launch_overhead_us()
  ClockScaling clock_scaling;
  std::int64_t issued_macs = 0;  ///< executed multiply-accumulates of all CTAs, padding included
  /// Bytes of the launch: counted where all of it was simulated, else in closed form; and those of
  /// the second kernel of split-K, which is not simulated.
  kernels::MemoryTraffic traffic;
  kernels::ReductionBytes reduction;
  CycleBudget budget;
  /// Counts of all SMs during the launch; absent where cycles were not simulated but carried on.
  std::optional<tensor_core::Activity> activity;
  /// Shares of the cycles of all tensor cores during the launch; absent in closed form.
  std::optional<StallShares> stalls;

  double time_us() const { return static_cast<double>(cycles) / clock_mhz + launch_us; }
};

struct GemmRun : LaunchFigures {
  std::vector<base::Matrix<numerics::Word>> d;  ///< per batch [m, n], accumulator words; empty without operands
};

/// The faster one of the two, with the other one as its runner-up if that is faster than the one
/// that it has.
GemmRun faster_of(GemmRun first, GemmRun second);

}  // namespace sptc::gpu
