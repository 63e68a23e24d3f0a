// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/stall_shares.h"

#include <algorithm>

namespace sptc::gpu {

StallShares with_mma(StallShares shares, double mma) {
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

StallShares whole_stalls(const sm::StallCycles& counted) {
  StallShares shares;
  const auto total = static_cast<double>(counted.total());
  std::transform(counted.of.begin(), counted.of.end(), shares.of.begin(),
                 [total](std::int64_t cycles) { return static_cast<double>(cycles) / total; });
  return shares;
}

}  // namespace sptc::gpu
