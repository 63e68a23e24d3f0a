// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include <algorithm>

namespace sptc::sim {
namespace {

// k-tiles that fill the pipeline.
constexpr std::int64_t kWarmUpTiles = 8;

// k-tiles that an SM executes in a stretch of fills. CTAs of few k-tiles need several fills to show
// how they follow each other: their stores pile up until they pace the rest.
constexpr std::int64_t kTilesOfFills = 32;

/// The lengths to simulate in one dimension, and how many times further the second one has to be
/// carried on: length = second + repeats * (second - first).
struct Stretch {
  std::int64_t first = 0, second = 0;
  std::int64_t repeats = 0;  ///< 0: `second` is the whole length
};

Stretch stretch_of(std::int64_t length, std::int64_t warm_up, std::int64_t stride) {
  if (length <= warm_up + 2 * stride) {
    return {length, length, 0};
  }
  const std::int64_t first = warm_up + (length - warm_up) % stride;
  const std::int64_t second = first + stride;
  return {first, second, (length - second) / stride};
}

}  // namespace

ExtrapolatedCycles extrapolate_cycles(
    const GridExtent& extent,
    const std::function<CtaEnds(std::int64_t ctas, std::int64_t k_tiles)>& simulate) {
  const std::int64_t fills =
      extent.resident * (extent.k_tiles <= kWarmUpTiles ? kTilesOfFills / extent.k_tiles : 1);
  const Stretch ctas = stretch_of(extent.ctas, fills, fills);
  const Stretch tiles = stretch_of(extent.k_tiles, kWarmUpTiles, extent.tile_period);
  ExtrapolatedCycles result;
  result.extrapolated = ctas.repeats > 0 || tiles.repeats > 0;
  const auto end = [&](std::int64_t grid, std::int64_t depth) {
    const std::int64_t cycles = simulate(grid, depth).back();
    result.cycles_simulated += cycles;
    return cycles;
  };
  // A grid of the full depth, with `grid` CTAs.
  const auto at_full_depth = [&](std::int64_t grid) {
    const std::int64_t second = end(grid, tiles.second);
    return tiles.repeats == 0 ? second : second + tiles.repeats * (second - end(grid, tiles.first));
  };
  const std::int64_t second = at_full_depth(ctas.second);
  result.cycles =
      ctas.repeats == 0 ? second : second + ctas.repeats * (second - at_full_depth(ctas.first));
  result.cycles = std::max(result.cycles, second);
  return result;
}

}  // namespace sptc::sim
