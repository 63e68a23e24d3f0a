// SPDX-License-Identifier: Apache-2.0
//
// One k-tile of A, B or both that is another: a stage of the pipeline that is read before it is
// written, or two that are exchanged.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::size_t kMostOfTile = 48;
constexpr std::size_t kMostTiles = 256;  // of which all pairs are looked at
constexpr std::size_t kLeastTile = 8;    // k

/// Tile p is tile q; of `both_ways` also tile q is tile p.
struct Stale {
  bool a_moves, b_moves, both_ways;
};
constexpr std::array kKinds{Stale{true, false, false}, Stale{false, true, false},
                            Stale{true, true, false}, Stale{true, false, true},
                            Stale{false, true, true}};

double change_of(const KSample& sample, std::size_t tile, std::size_t p, std::size_t q,
                 const Stale& kind) {
  const auto meet = [&](std::size_t a, std::size_t b) {
    return sample.products(a * tile, b * tile, tile);
  };
  if (kind.both_ways) {
    return meet(p, q) + meet(q, p) - meet(p, p) - meet(q, q);
  }
  return meet(kind.a_moves ? q : p, kind.b_moves ? q : p) - meet(p, p);
}

Hypothesis stale(const KTiles& tiles, std::size_t tile, std::size_t p, std::size_t q,
                 const Stale& kind) {
  const std::string at = tiles.range(p * tile, (p + 1) * tile);
  const std::string from = tiles.range(q * tile, (q + 1) * tile);
  const bool both = kind.a_moves && kind.b_moves;
  const char* const who = both ? "A and B" : kind.a_moves ? "A" : "B";
  KMap map = tiles.moved(tile, kind.a_moves, kind.b_moves, [&](std::int64_t t) {
    const auto unmoved = static_cast<std::size_t>(t);
    const bool is_other = kind.both_ways && unmoved == q;
    return static_cast<std::int64_t>(unmoved == p ? q : is_other ? p : unmoved);
  });
  return tiles.summed_by(std::move(map), kind.both_ways ? "exchanged-k-tiles" : "duplicated-k-tile",
                         kind.both_ways
                             ? fmt::format("{} and {} of {} are exchanged", at, from, who)
                             : fmt::format("in place of {} {} of {} again {}", at,
                                           both ? "those" : "that", who, from));
}

}  // namespace

Proposals stale_k_tiles(const Trial& at) {
  const KTiles tiles(at.kernel());
  const std::vector<KSample> samples = k_samples(at);
  Proposals proposals;
  if (samples.empty()) {
    return proposals;
  }
  for (const std::size_t tile : tiles.sizes()) {
    const std::size_t count = tiles.units() / tile, most = proposals.list.size() + kMostOfTile;
    if (count > kMostTiles || count < 2 ||
        tile * tiles.unit() < std::min(kLeastTile, at.kernel().data.k)) {
      continue;
    }
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t q = 0; q < count; ++q) {
        for (const Stale& kind : kKinds) {
          if (p == q || (kind.both_ways && p > q)) {
            continue;
          }
          ++proposals.among;
          if (proposals.list.size() < most && most_may_be(samples, [&](const KSample& sample) {
                return change_of(sample, tile, p, q, kind);
              })) {
            proposals.list.push_back(stale(tiles, tile, p, q, kind));
          }
        }
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
