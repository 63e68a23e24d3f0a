// SPDX-License-Identifier: Apache-2.0
//
// Any set of k-tiles that D lacks, or has more than once: a warp along K that adds nothing.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

/// "k 64 to 95 and k 256 to 287", "k-tile 1 of every 2 tiles of 32 k".
std::string tiles_text(const KTiles& tiles, const std::vector<std::size_t>& chosen,
                       std::size_t tile, std::size_t count) {
  for (const std::size_t stride : {2U, 4U, 8U}) {
    if (chosen.size() > 1 && chosen[0] < stride && chosen.size() * stride == count &&
        chosen.back() == chosen[0] + (chosen.size() - 1) * stride &&
        chosen[1] == chosen[0] + stride) {
      return fmt::format("k-tile {} of every {} tiles of {} k", chosen[0], stride,
                         tile * tiles.unit());
    }
  }
  constexpr std::size_t kListed = 4;
  const Intervals parts = intervals_of(chosen);
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, parts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + tiles.range(parts[i].begin * tile, parts[i].end * tile);
  }
  return text +
         (parts.size() > kListed ? fmt::format(" and {} other parts", parts.size() - kListed) : "");
}

/// Tile t enters the sums `times[t]` times. Nothing where that is nothing of this kind.
std::optional<Hypothesis> summed(const KTiles& tiles, std::size_t tile,
                                 const std::vector<int>& times) {
  KMap map;
  std::vector<std::size_t> lost, doubled;
  for (std::size_t t = 0; t < times.size(); ++t) {
    const std::size_t end = std::min((t + 1) * tile, tiles.units());
    for (int again = 0; again < std::max(1, times[t]); ++again) {
      for (std::size_t unit = t * tile; unit < end; ++unit) {
        map.a.push_back(times[t] == 0 ? KMap::kZero : static_cast<std::int64_t>(unit));
      }
    }
    if (times[t] != 1) {
      (times[t] == 0 ? lost : doubled).push_back(t);
    }
  }
  map.b = map.a;
  if (lost.size() + doubled.size() == 0 || lost.size() == times.size()) {
    return std::nullopt;
  }
  const std::string again =
      doubled.empty() ? ""
                      : "has " + tiles_text(tiles, doubled, tile, times.size()) + " more than once";
  const std::string lacks =
      lost.empty() ? "" : "lacks " + tiles_text(tiles, lost, tile, times.size());
  return tiles.summed_by(std::move(map), lost.empty() ? "doubled-k" : "missing-k",
                         "D " + again + (again.empty() || lacks.empty() ? "" : " and ") + lacks);
}

}  // namespace

Proposals k_tile_sets(const Trial& at) {
  const KTiles tiles(at.kernel());
  Proposals proposals;
  for (const std::size_t tile : tiles.sizes()) {
    if (const auto times = k_contributions(at, tile)) {
      if (auto hypothesis = summed(tiles, tile, *times)) {
        proposals.list.push_back(std::move(*hypothesis));
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
