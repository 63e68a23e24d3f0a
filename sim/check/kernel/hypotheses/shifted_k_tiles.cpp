// SPDX-License-Identifier: Apache-2.0
//
// K-tiles of A that meet those of B which do not belong to them, all in the same way: a pipeline
// that is a stage early or late.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::size_t kMostOfTile = 48;

struct Shift {
  std::string formula;
  std::function<std::int64_t(std::int64_t)> source;
};

/// What may happen to `count` tiles.
std::vector<Shift> shifts_of(std::int64_t count) {
  std::vector<Shift> shifts;
  for (std::int64_t by = 1; by < count; by *= 2) {
    shifts.push_back({fmt::format("t ^ {}", by), [by](std::int64_t t) { return t ^ by; }});
  }
  for (const std::int64_t by : {-3, -2, -1, 1, 2, 3}) {
    const auto formula = fmt::format("t {} {}", by < 0 ? '-' : '+', std::abs(by));
    shifts.push_back({formula + ", around the end",
                      [=](std::int64_t t) { return (t + by + 3 * count) % count; }});
    shifts.push_back({formula + " or zeros",
                      [=](std::int64_t t) { return t + by < count ? t + by : KMap::kZero; }});
    shifts.push_back({formula + " or the last one there is", [=](std::int64_t t) {
                        return std::clamp<std::int64_t>(t + by, 0, count - 1);
                      }});
  }
  shifts.push_back(
      {fmt::format("{} - t", count - 1), [=](std::int64_t t) { return count - 1 - t; }});
  return shifts;
}

double change_of(const KSample& sample, const KMap& map) {
  double sum = 0;
  for (std::size_t unit = 0; unit < map.a.size(); ++unit) {
    if (map.a[unit] >= 0 && map.b[unit] >= 0) {
      sum += sample.products(static_cast<std::size_t>(map.a[unit]),
                             static_cast<std::size_t>(map.b[unit]), 1);
    }
  }
  return sum - sample.prefix(map.a.size());
}

}  // namespace

Proposals shifted_k_tiles(const Trial& at) {
  const KTiles tiles(at.kernel());
  const std::vector<KSample> samples = k_samples(at);
  Proposals proposals;
  if (samples.empty() || tiles.units() < 2) {
    return proposals;
  }
  for (const std::size_t tile : tiles.sizes()) {
    const std::size_t most = proposals.list.size() + kMostOfTile;
    const std::string width = fmt::format("{}", tile * tiles.unit());
    for (const Shift& shift : shifts_of(static_cast<std::int64_t>(tiles.units() / tile))) {
      for (const bool of_a : {true, false}) {
        KMap map = tiles.moved(tile, of_a, !of_a, shift.source);
        ++proposals.among;
        if (proposals.list.size() < most &&
            most_may_be(samples, [&](const KSample& sample) { return change_of(sample, map); })) {
          proposals.list.push_back(
              tiles.summed_by(std::move(map), "permuted-k-tiles",
                              fmt::format("tile t of {} k of {} meets tile {} of {}", width,
                                          of_a ? "B" : "A", shift.formula, of_a ? "A" : "B")));
        }
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
