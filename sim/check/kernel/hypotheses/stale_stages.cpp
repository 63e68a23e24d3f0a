// SPDX-License-Identifier: Apache-2.0
//
// Stages of a pipeline that are read before they are written, or written before they are read.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

// One k-tile of A, B or both that is another: a stage of the pipeline that is read before it is written, or two that
// are exchanged.
Proposals stale_k_tiles(const Trial& at) {
  struct Kind {
    const char* who;
    bool a_moves, b_moves, both_ways;
  };
  constexpr Kind kKinds[] = {{"that of A", true, false, false},
                             {"that of B", false, true, false},
                             {"those of A and B", true, true, false},
                             {"A", true, false, true},
                             {"B", false, true, true}};
  constexpr std::size_t kMostTiles = 256;  // of which all pairs are looked at
  constexpr std::size_t kLeastTile = 8;    // k
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const std::size_t count = maps.units() / tile, least = std::min(kLeastTile, at.data().k);
    const bool is_wanted = count <= kMostTiles && count > 1 && tile * maps.unit() >= least;
    for (std::size_t pair = 0; is_wanted && pair < count * count; ++pair) {
      const std::size_t p = pair / count, q = pair % count;
      for (const auto& [who, a_moves, b_moves, both_ways] : kKinds) {
        if (p == q || (both_ways && p > q)) {
          continue;
        }
        const auto tile_of = [&, of_a = a_moves, of_b = b_moves](std::size_t own, std::size_t other) {
          return KPart{static_cast<std::int64_t>((of_a ? other : own) * tile),
                       static_cast<std::int64_t>((of_b ? other : own) * tile), tile};
        };
        KMap map{part_of_k(0, p * tile), tile_of(p, q)};
        if (both_ways) {
          map.insert(map.end(), {part_of_k((p + 1) * tile, q * tile), tile_of(q, p)});
        }
        map.push_back(part_of_k(((both_ways ? q : p) + 1) * tile, maps.units()));
        maps.add_if_likely(tile, both_ways ? "exchanged-k-tiles" : "duplicated-k-tile", std::move(map),
                           [&, said = who, exchanged = both_ways] {
                             const std::string there = maps.range(p * tile, (p + 1) * tile),
                                               from = maps.range(q * tile, (q + 1) * tile);
                             return exchanged ? fmt::format("{} and {} of {} are exchanged", there, from, said)
                                              : fmt::format("in place of {} {} again {}", there, said, from);
                           });
      }
    }
  }
  return std::move(maps.proposals);
}

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
