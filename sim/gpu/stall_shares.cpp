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

StallShares scaled_stalls(const CountedGrid& grid, double macs, double tensor_cores,
                          const CycleBudget& budget) {
  StallShares shares = whole_stalls(grid.stalls);
  const double cycles_per_mac =
      static_cast<double>(grid.stalls[sm::StallReason::kMma]) / static_cast<double>(grid.macs);
  const double mma = std::min(1.0, cycles_per_mac * macs / tensor_cores / budget.cycles);
  // The last round comes once, in a short grid as in the launch.
  const double last = std::min(1.0, static_cast<double>(grid.cycles) / budget.cycles);
  const double with_cta = 1 - last * shares[sm::StallReason::kNoCta];
  const double work = 1 - last * (1 - grid.work);
  const double mean = budget.tensor_mean / budget.tensor;
  const double no_cta = std::clamp(1 - with_cta * mean / work, 0.0, 1 - mma);
  shares[sm::StallReason::kEnds] *= grid.depth;
  shares[sm::StallReason::kNoCta] = 0;
  shares = with_mma(shares, mma / (1 - no_cta));
  for (double& share : shares.of) {
    share *= 1 - no_cta;
  }
  shares[sm::StallReason::kNoCta] += no_cta;
  return shares;
}

}  // namespace sptc::gpu
