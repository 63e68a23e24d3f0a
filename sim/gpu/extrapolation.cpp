// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>

namespace sptc::sim {
namespace {

// k-tiles that fill the pipeline.
constexpr std::int64_t kWarmUpTiles = 8;

// k-tiles that an SM executes in a stretch of fills. CTAs of few k-tiles need several fills to show
// how they follow each other: their stores pile up until they pace the rest. CTAs that stay copy
// the first tiles of the next output meanwhile, and settle sooner.
constexpr std::int64_t kTilesOfFills = 32;
constexpr std::int64_t kTilesOfFillsThatStay = 16;

// Rounds of CTAs among which the last one, which need not fill the GPU, is not seen.
constexpr std::int64_t kManyRounds = 16;

/// CTAs of an SM in a stretch of fills.
std::int64_t fill_of(const GridExtent& extent) {
  const std::int64_t tiles = extent.stays ? kTilesOfFillsThatStay : kTilesOfFills;
  return extent.resident * (extent.k_tiles <= kWarmUpTiles ? tiles / extent.k_tiles : 1);
}

/// The lengths to simulate in one dimension, and how many times further the second one has to be
/// carried on: length = second + repeats * (second - first).
struct Stretch {
  std::int64_t first = 0, second = 0;
  std::int64_t repeats = 0;  ///< 0: `second` is the whole length
};

/// `both`: the first length takes a run of its own. What costs no less is simulated whole.
Stretch stretch_of(std::int64_t length, std::int64_t warm_up, std::int64_t stride, bool both) {
  const std::int64_t first = warm_up + std::max<std::int64_t>(0, length - warm_up) % stride;
  const std::int64_t second = first + stride;
  if (length <= second + (both ? first : 0)) {
    return {length, length, 0};
  }
  return {first, second, (length - second) / stride};
}

/// Cycles from the end of the first `fill` CTAs of an SM to that of as many more. An SM whose
/// partition of the L2 is busier than the other one gets fewer CTAs for it: the mean.
double second_fill(const GridTimes& grid, std::int64_t fill) {
  double sum = 0, sms = 0;
  const auto count = static_cast<std::size_t>(fill);
  for (const std::vector<std::int64_t>& ends : grid.cta_ends) {
    if (ends.size() >= 2 * count) {
      sum += static_cast<double>(ends[2 * count - 1] - ends[count - 1]);
      sms += 1;
    }
  }
  ensure(sms > 0, "no SM has a second fill");
  return sum / sms;
}

}  // namespace

ExtrapolatedCycles extrapolate_cycles(
    const GridExtent& extent,
    const std::function<GridTimes(std::int64_t ctas, std::int64_t k_tiles)>& simulate) {
  const std::int64_t fill = fill_of(extent);
  const bool last_round_counts = extent.ctas < kManyRounds * extent.resident;
  const Stretch ctas =
      stretch_of(extent.ctas, last_round_counts ? fill + 1 : fill, fill, extent.stays);
  const Stretch tiles = stretch_of(extent.k_tiles, kWarmUpTiles, extent.tile_period, true);
  ExtrapolatedCycles result;
  result.extrapolated = ctas.repeats > 0 || tiles.repeats > 0;
  const auto simulated = [&](std::int64_t grid, std::int64_t depth) {
    GridTimes times = simulate(grid, depth);
    result.cycles_simulated += times.cycles;
    return times;
  };
  // With all CTAs.
  const auto at_depth = [&](std::int64_t depth) {
    const GridTimes grid = simulated(ctas.second, depth);
    if (ctas.repeats == 0) {
      return static_cast<double>(grid.cycles);
    }
    const double period =
        extent.stays ? static_cast<double>(grid.cycles - simulated(ctas.first, depth).cycles)
                     : second_fill(grid, fill);
    return static_cast<double>(grid.cycles) +
           std::max(0.0, static_cast<double>(ctas.repeats) * period);
  };
  double cycles = at_depth(tiles.second);
  if (tiles.repeats > 0) {
    cycles += static_cast<double>(tiles.repeats) * std::max(0.0, cycles - at_depth(tiles.first));
  }
  result.cycles = std::llround(cycles);
  return result;
}

}  // namespace sptc::sim
