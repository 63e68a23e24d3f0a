// SPDX-License-Identifier: Apache-2.0
//
// Any set of k-tiles that D lacks, or has more than once: a warp along K that adds nothing.
#include "sim/check/kernel/hypotheses/families.h"

#include <Eigen/Dense>

namespace sptc::check::kernel::hypotheses {
namespace {

/// How often each k-tile of `tile` units enters the sums of a place: 0 where it is missing, 2 where it is there twice.
/// From wrong elements, each of which is a linear equation, by least squares. Empty where they tell too little, or the
/// solution is not of whole numbers.
std::vector<int> times_of_tiles(const Trial& at, const KMaps& maps, std::size_t tile) {
  constexpr std::size_t kMostTiles = 128;
  constexpr double kWhole = 0.1, kMostTimes = 3;
  const std::size_t count = (maps.units() + tile - 1) / tile;
  std::vector<std::pair<std::size_t, std::size_t>> wrong, spread;
  // A sum that an activation cuts off is no equation.
  if (count < 2 || count > kMostTiles || at.kernel().model.epilogue.activation != Activation::kNone) {
    return {};
  }
  at.selection().each([&](std::size_t row, std::size_t column) {
    if (at.kernel().wrong(row, column) != 0) {
      wrong.emplace_back(row, column);
    }
  });
  const std::size_t wanted = std::min(4 * count, wrong.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    spread.push_back(wrong[i * wrong.size() / wanted]);
  }
  const std::vector<KSample> samples = k_samples(at.kernel(), spread);
  if (samples.size() < 2 * count) {
    return {};
  }
  Eigen::MatrixXd parts(samples.size(), count);
  Eigen::VectorXd off(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t t = 0; t < count; ++t) {
      parts(row, static_cast<Eigen::Index>(t)) =
          samples[i].sum_of({part_of_k(t * tile, std::min((t + 1) * tile, maps.units()))});
    }
    off(row) = samples[i].missing_sum();
  }
  std::vector<int> times;
  for (const double value : Eigen::VectorXd(parts.colPivHouseholderQr().solve(off))) {
    const double rounded = std::nearbyint(value);
    if (!(std::fabs(value - rounded) < kWhole) || rounded < -1 || rounded >= kMostTimes) {
      return {};
    }
    times.push_back(1 + static_cast<int>(rounded));
  }
  return times;
}

/// "k 64 to 95, k 256 to 287", "k-tile 1 of every 2 tiles of 32 k".
std::string tiles_text(const KMaps& maps, const std::vector<std::size_t>& chosen, std::size_t tile, std::size_t count) {
  constexpr std::size_t kListed = 4;
  for (const std::size_t stride : {2U, 4U, 8U}) {
    if (chosen.size() > 1 && chosen[0] < stride && chosen.size() * stride == count && chosen[1] == chosen[0] + stride &&
        chosen.back() == chosen[0] + (chosen.size() - 1) * stride) {
      return fmt::format("k-tile {} of every {} tiles of {} k", chosen[0], stride, tile * maps.unit());
    }
  }
  const Intervals parts = intervals_of(chosen);
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, parts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + maps.range(parts[i].begin * tile, parts[i].end * tile);
  }
  return text + (parts.size() > kListed ? fmt::format(" and {} other parts", parts.size() - kListed) : "");
}

}  // namespace

Proposals k_tile_sets(const Trial& at) {
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const std::vector<int> times = times_of_tiles(at, maps, tile);
    KMap map;
    std::vector<std::size_t> lost, doubled;
    for (std::size_t t = 0; t < times.size(); ++t) {
      const KPart part = part_of_k(t * tile, std::min((t + 1) * tile, maps.units()));
      map.insert(map.end(), static_cast<std::size_t>(std::max(1, times[t])),
                 times[t] == 0 ? zeros_of_k(part.count) : part);
      if (times[t] != 1) {
        (times[t] == 0 ? lost : doubled).push_back(t);
      }
    }
    if (lost.size() + doubled.size() == 0 || lost.size() == times.size()) {
      continue;
    }
    const std::string has =
        doubled.empty() ? "" : "has " + tiles_text(maps, doubled, tile, times.size()) + " more than once";
    const std::string lacks = lost.empty() ? "" : "lacks " + tiles_text(maps, lost, tile, times.size());
    maps.add(lost.empty() ? "doubled-k" : "missing-k",
             "D " + has + (has.empty() || lacks.empty() ? "" : " and ") + lacks, std::move(map));
  }
  return std::move(maps.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
