// SPDX-License-Identifier: Apache-2.0
//
// Stages of a pipeline that are read before they are written.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

// Any set of k-tiles in whose place those stand that were in their stages before.
Proposals stale_stages(const Trial& at) {
  constexpr std::size_t kMostStages = 4, kMostTiles = 64;
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const std::size_t count = maps.units() / tile;
    if (count * tile != maps.units() || count > kMostTiles) {
      continue;
    }
    for (std::size_t stages = 1; stages <= std::min(kMostStages, count - 1); ++stages) {
      for (const auto& [who, of_a, of_b] :
           {std::tuple("A", true, false), {"B", false, true}, {"A and B", true, true}}) {
        const auto stale = [&, a = of_a, b = of_b](std::size_t t) {
          return KPart{static_cast<std::int64_t>((a ? t - stages : t) * tile),
                       static_cast<std::int64_t>((b ? t - stages : t) * tile), tile};
        };
        const auto own = [&](std::size_t t) { return part_of_k(t * tile, (t + 1) * tile); };
        const std::vector<int> times = maps.times_of_tiles(tile, 0, 1, [&](const KSample& sample, std::size_t t) {
          return t < stages ? 0 : sample.sum_of({stale(t)}) - sample.sum_of({own(t)});
        });
        KMap map;
        std::vector<std::size_t> chosen;
        for (std::size_t t = 0; t < times.size(); ++t) {
          map.push_back(times[t] > 0 ? stale(t) : own(t));
          if (times[t] > 0) {
            chosen.push_back(t);
          }
        }
        if (!chosen.empty()) {
          maps.add("duplicated-k-tile",
                   fmt::format("{} at {}: what stood there {} k before, a stale stage", who, maps.tiles(chosen, tile),
                               stages * tile * maps.unit()),
                   std::move(map));
        }
      }
    }
  }
  return std::move(maps.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
