// SPDX-License-Identifier: Apache-2.0
//
// Any set of k-tiles that D lacks, or has more than once: a warp along K that adds nothing.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals k_tile_sets(const Trial& at) {
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const auto own = [&](std::size_t t) { return part_of_k(t * tile, std::min((t + 1) * tile, maps.units())); };
    const std::vector<int> times =
        maps.times_of_tiles(tile, -1, 2, [&](const KSample& sample, std::size_t t) { return sample.sum_of({own(t)}); });
    KMap map;
    std::vector<std::size_t> lost, doubled;
    for (std::size_t t = 0; t < times.size(); ++t) {
      map.insert(map.end(), static_cast<std::size_t>(std::max(1, 1 + times[t])),
                 times[t] < 0 ? zeros_of_k(own(t).count) : own(t));
      if (times[t] != 0) {
        (times[t] < 0 ? lost : doubled).push_back(t);
      }
    }
    if (lost.size() + doubled.size() == 0 || lost.size() == times.size()) {
      continue;
    }
    const std::string has = doubled.empty() ? "" : "has " + maps.tiles(doubled, tile) + " more than once";
    const std::string lacks = lost.empty() ? "" : "lacks " + maps.tiles(lost, tile);
    maps.add(lost.empty() ? "doubled-k" : "missing-k",
             "D " + has + (has.empty() || lacks.empty() ? "" : " and ") + lacks, std::move(map));
  }
  return std::move(maps.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
