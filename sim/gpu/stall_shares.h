// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/stall_counters.h"

namespace sptc::gpu {

/// The part of each reason in the cycles of all tensor cores of the GPU during a launch: together
/// 1.
using StallShares = sm::ByReason<double>;

/// `shares` where the tensor cores multiply for the part `mma`: the others keep their proportions.
StallShares with_mma(StallShares shares, double mma);

/// Shares of `counted` cycles, those of the whole GPU and the whole launch.
StallShares whole_stalls(const sm::StallCycles& counted);

}  // namespace sptc::gpu
