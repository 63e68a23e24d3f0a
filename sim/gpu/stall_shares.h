// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/stall_counters.h"

namespace sptc::gpu {

/// The part of each reason in the cycles of all tensor cores of the GPU during a launch: together
/// 1.
using StallShares = sm::ByReason<double>;

/// `shares` where the tensor cores multiply for the part `mma`: the others keep their proportions.
inline StallShares with_mma(StallShares shares, double mma) {
  const double others = shares.total() - shares[sm::StallReason::kMma];
  if (others <= 0) {
    return shares;  // nothing else was seen
  }
  for (double& share : shares.of) {
    share *= (1 - mma) / others;
  }
  shares[sm::StallReason::kMma] = mma;
  return shares;
}

}  // namespace sptc::gpu
