// SPDX-License-Identifier: Apache-2.0
//
// A part of K that D lacks, or has twice.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::size_t kMostOfTile = 48;    // hypotheses of one size of tiles
constexpr std::size_t kMostRanges = 2048;  // tiles of which all ranges are looked at

Hypothesis without(const KTiles& tiles, std::size_t begin, std::size_t end) {
  KMap map = KMap::identity(tiles.units());
  std::fill(map.a.begin() + static_cast<std::ptrdiff_t>(begin),
            map.a.begin() + static_cast<std::ptrdiff_t>(end), KMap::kZero);
  map.b = map.a;
  const bool is_all = begin == 0 && end == tiles.units();
  return tiles.summed_by(
      std::move(map), "missing-k",
      is_all ? "D lacks the whole sum over K" : "D lacks " + tiles.range(begin, end));
}

/// The second time right behind the first, or at the end of K.
void add_doubled(const KTiles& tiles, std::size_t begin, std::size_t end,
                 std::vector<Hypothesis>& list) {
  for (const std::size_t at : std::set<std::size_t>{end, tiles.units()}) {
    KMap map = KMap::identity(tiles.units());
    const std::vector<std::int64_t> again(map.b.begin() + static_cast<std::ptrdiff_t>(begin),
                                          map.b.begin() + static_cast<std::ptrdiff_t>(end));
    map.a.insert(map.a.begin() + static_cast<std::ptrdiff_t>(at), again.begin(), again.end());
    map.b = map.a;
    list.push_back(tiles.summed_by(std::move(map), "doubled-k",
                                   "D has " + tiles.range(begin, end) + " twice"));
  }
}

/// Ranges of whole tiles that the samples allow; how many were looked at.
double add_ranges(const KTiles& tiles, std::size_t tile, const std::vector<KSample>& samples,
                  std::vector<Hypothesis>& list) {
  const std::size_t count = (tiles.units() + tile - 1) / tile, most = list.size() + kMostOfTile;
  double looked_at = 0;
  for (std::size_t first = 0; first < count; ++first) {
    for (std::size_t last = first + 1; last <= count; ++last) {
      if (count > kMostRanges && first > 0) {
        last = count;  // of many only what is missing at an end
      }
      const std::size_t begin = first * tile, end = std::min(last * tile, tiles.units());
      looked_at += 2;
      if (list.size() >= most) {
        continue;
      }
      const auto part = [&](const KSample& sample) {
        return sample.prefix(end) - sample.prefix(begin);
      };
      if (most_may_be(samples, [&](const KSample& sample) { return -part(sample); })) {
        list.push_back(without(tiles, begin, end));
      }
      if (most_may_be(samples, part)) {
        add_doubled(tiles, begin, end, list);
      }
    }
  }
  return looked_at;
}

}  // namespace

Proposals k_ranges(const Trial& at) {
  const KTiles tiles(at.kernel());
  const std::vector<KSample> samples = k_samples(at);
  Proposals proposals;
  if (samples.empty() || tiles.units() < 2) {
    return proposals;
  }
  for (const std::size_t tile : tiles.sizes()) {
    proposals.among = std::max(proposals.among, add_ranges(tiles, tile, samples, proposals.list));
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
