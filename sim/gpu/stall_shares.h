// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/cycle_budget.h"
#include "sim/sm/stall_counters.h"

#include <cstdint>

namespace sptc::gpu {

/// Of the cycles of all tensor cores of the GPU during a launch, the part of each reason: together
/// 1.
using StallShares = sm::ByReason<double>;

/// `shares` where the tensor cores multiply for the part `mma`: the others keep their proportions.
StallShares with_mma(StallShares shares, double mma);

/// Of `counted` cycles, those of the whole GPU and the whole launch.
StallShares whole_stalls(const sm::StallCycles& counted);

/// A grid that was counted and stands for more SMs or cycles than its own.
struct CountedGrid {
  sm::StallCycles stalls;
  std::int64_t macs = 0;  ///< executed by the SMs that were counted
  double work = 1;        ///< of those on average, of what the busiest SM has
  double depth = 1;       ///< k-tiles of an output tile, of those that the launch has
  std::int64_t cycles = 0;
};

/// The same of a launch of `macs` on `tensor_cores` for which `grid` stands. How long the tensor
/// cores multiply follows from the work. SMs are without a CTA for as long as those that were
/// counted, and longer by as much more as those have to do than the mean SM (`budget`). The rest
/// keeps the proportions of the grid.
StallShares scaled_stalls(const CountedGrid& grid, double macs, double tensor_cores,
                          const CycleBudget& budget);

}  // namespace sptc::gpu
