// SPDX-License-Identifier: Apache-2.0
//
// Stages of a pipeline that are read before they are written.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

// Any set of k-tiles in whose place those stand that were in their stages before, or those that came too early.
Proposals stale_stages(const Trial& at) {
  constexpr std::int64_t kMostTiles = 64;
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const auto count = static_cast<std::int64_t>(maps.units() / tile), width = static_cast<std::int64_t>(tile);
    if (maps.units() % tile != 0 || count > kMostTiles) {
      continue;
    }
    for (const std::int64_t by : {-1, 1, -2, 2, -3, 3, -4, 4}) {
      for (const auto& [who, of_a, of_b] :
           {std::tuple("A", true, false), {"B", false, true}, {"A and B", true, true}}) {
        const auto part = [=, a = of_a ? by : 0, b = of_b ? by : 0](std::int64_t t, bool is_other) {
          return KPart{(t + (is_other ? a : 0)) * width, (t + (is_other ? b : 0)) * width, tile};
        };
        const auto times = std::abs(by) < count
                               ? maps.times_of_tiles(tile, 0, 1,
                                                     [&](const KSample& sample, std::size_t at_tile) {
                                                       const auto t = static_cast<std::int64_t>(at_tile);
                                                       const bool is_there = t + by >= 0 && t + by < count;
                                                       return is_there ? sample.sum_of({part(t, true)}) -
                                                                             sample.sum_of({part(t, false)})
                                                                       : 0;
                                                     })
                               : std::vector<int>();
        KMap map;
        std::vector<std::size_t> chosen;
        for (std::size_t t = 0; t < times.size(); ++t) {
          map.push_back(part(static_cast<std::int64_t>(t), times[t] > 0));
          if (times[t] > 0) {
            chosen.push_back(t);
          }
        }
        if (!chosen.empty()) {
          maps.add("duplicated-k-tile",
                   fmt::format(
                       "{} {} {} at {}: what {} {} k {}", who, of_a && of_b ? "are" : "is",
                       by < 0 ? "stale" : "overwritten", maps.tiles(chosen, tile), by < 0 ? "stood there" : "belongs",
                       static_cast<std::size_t>(std::abs(by)) * tile * maps.unit(), by < 0 ? "before" : "further on"),
                   std::move(map));
        }
      }
    }
  }
  return std::move(maps.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
