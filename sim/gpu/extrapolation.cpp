// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include <array>
#include <optional>

namespace sptc::sim {
namespace {

// Depths are compared a whole number of these apart, so that loop periods of 1, 2 and 4 k-tiles are all seen.
constexpr std::int64_t kTileStride = 4;
// k-tiles that fill the pipeline, first try and second.
constexpr std::array<std::int64_t, 2> kWarmUpTiles{8, 24};
// Rounds that are simulated: one to start, two to compare, one that keeps the SM full while they run.
constexpr std::int64_t kRounds = 4;

/// End of a grid, and of one more round of CTAs where rounds are extrapolated.
struct Run {
  std::int64_t end = 0;
  std::int64_t round = 0;  ///< cycles that each further round adds
};

std::optional<Run> measure(const CtaEnds& ends, std::int64_t resident, bool need_round) {
  Run run;
  run.end = ends.back();
  if (need_round) {
    const auto end_of_round = [&](std::int64_t round) {
      return ends[static_cast<std::size_t>(round * resident - 1)];
    };
    run.round = end_of_round(3) - end_of_round(2);
    if (run.round != end_of_round(2) - end_of_round(1)) {
      return std::nullopt;
    }
  }
  return run;
}

/// Value at `x` of the line through three equidistant points, where they are on one.
std::optional<std::int64_t> on_line(const std::array<std::int64_t, 3>& points,
                                    std::int64_t strides_beyond_last) {
  const std::int64_t slope = points[2] - points[1];
  if (points[1] - points[0] != slope) {
    return std::nullopt;
  }
  return points[2] + slope * strides_beyond_last;
}

}  // namespace

ExtrapolatedCycles extrapolate_cycles(
    const GridExtent& extent,
    const std::function<CtaEnds(std::int64_t ctas, std::int64_t k_tiles)>& simulate) {
  ExtrapolatedCycles result;
  const bool many_rounds = extent.ctas > (kRounds + 1) * extent.resident;
  const std::int64_t ctas =
      many_rounds ? kRounds * extent.resident + extent.ctas % extent.resident : extent.ctas;
  const std::int64_t rounds_left = (extent.ctas - ctas) / extent.resident;
  const auto run = [&](std::int64_t k_tiles) {
    const CtaEnds ends = simulate(ctas, k_tiles);
    result.cycles_simulated += ends.back();
    return measure(ends, extent.resident, many_rounds);
  };

  for (const std::int64_t warm_up : kWarmUpTiles) {
    const std::int64_t first = warm_up + extent.k_tiles % kTileStride;
    const std::int64_t last = first + 2 * kTileStride;
    if (extent.k_tiles <= last) {
      break;
    }
    const auto a = run(first);
    const auto b = run(first + kTileStride);
    const auto c = run(last);
    if (!a || !b || !c) {
      continue;
    }
    const std::int64_t strides = (extent.k_tiles - last) / kTileStride;
    const auto end = on_line({a->end, b->end, c->end}, strides);
    const auto round = on_line({a->round, b->round, c->round}, strides);
    if (end && round) {
      result.cycles = *end + rounds_left * *round;
      result.extrapolated = true;
      return result;
    }
  }
  if (many_rounds) {
    if (const auto whole_depth = run(extent.k_tiles)) {
      result.cycles = whole_depth->end + rounds_left * whole_depth->round;
      result.extrapolated = true;
      return result;
    }
  }
  const CtaEnds ends = simulate(extent.ctas, extent.k_tiles);
  result.cycles_simulated += ends.back();
  result.cycles = ends.back();
  return result;
}

}  // namespace sptc::sim
