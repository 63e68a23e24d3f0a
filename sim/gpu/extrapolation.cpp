// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>

namespace sptc::sim {
namespace {

// k-tiles that fill the pipeline; more where CTAs share the SM and have to fall into step.
constexpr std::int64_t kWarmUpTiles = 6;
constexpr std::int64_t kWarmUpTilesOfSeveral = 8;

// k-tiles that an SM executes in a stretch of fills. CTAs of few k-tiles need several fills to show
// how they follow each other: their stores pile up until they pace the rest. CTAs that stay copy
// the first tiles of the next output meanwhile, and settle sooner.
constexpr std::int64_t kFewTiles = 8;
constexpr std::int64_t kTilesOfFills = 32;
constexpr std::int64_t kTilesOfFillsThatStay = 16;

// Rounds that are emptier than this are not alike: the last CTAs have the memory to themselves.
constexpr double kMostEmpty = 0.1;

// Rounds of CTAs among which the last one, which need not fill the GPU, is not seen.
constexpr std::int64_t kManyRounds = 16;

/// CTAs of an SM in a stretch of fills.
std::int64_t fill_of(const GridExtent& extent) {
  const std::int64_t tiles = extent.stays ? kTilesOfFillsThatStay : kTilesOfFills;
  return extent.resident * (extent.k_tiles <= kFewTiles ? tiles / extent.k_tiles : 1);
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

/// Cycle in which the CTAs `count` of the SMs ended. An SM whose partition of the L2 is busier than
/// the other one gets fewer CTAs for it: the mean.
double end_of(const GridTimes& grid, std::int64_t count) {
  double sum = 0, sms = 0;
  for (const std::vector<std::int64_t>& ends : grid.cta_ends) {
    if (static_cast<std::int64_t>(ends.size()) >= count) {
      sum += static_cast<double>(ends[static_cast<std::size_t>(count - 1)]);
      sms += 1;
    }
  }
  ensure(sms > 0, "no SM has so many CTAs");
  return sum / sms;
}

class Extrapolation {
 public:
  Extrapolation(const GridExtent& extent,
                const std::function<GridTimes(const ShortGrid&)>& simulate)
      : extent_(extent),
        simulate_(simulate),
        fill_(fill_of(extent)),
        // In the second round SMs that began together wait for each other, and are apart from then
        // on.
        warm_up_(extent.stays || extent.resident > 1 ? fill_ : std::max<std::int64_t>(fill_, 2)),
        last_round_counts_(extent.ctas < kManyRounds * extent.resident),
        cta_stretch_(stretch_of(extent.ctas, last_round_counts_ ? warm_up_ + 1 : warm_up_, fill_,
                                extent.stays)),
        tile_stretch_(stretch_of(extent.k_tiles,
                                 extent.resident == 1 ? kWarmUpTiles : kWarmUpTilesOfSeveral,
                                 extent.tile_period, true)) {}

  ExtrapolatedCycles cycles() {
    const GridTimes deep = simulated(cta_stretch_.second, tile_stretch_.second, last_round_counts_);
    double cycles = with_all_ctas(deep, tile_stretch_.second);
    if (tile_stretch_.repeats > 0) {
      cycles +=
          static_cast<double>(tile_stretch_.repeats) * std::max(0.0, of_a_stretch(deep, cycles));
    }
    return {std::llround(cycles), cta_stretch_.repeats > 0 || tile_stretch_.repeats > 0,
            cycles_simulated_};
  }

 private:
  GridTimes simulated(std::int64_t ctas, std::int64_t k_tiles, bool ends_as_the_whole) {
    GridTimes times = simulate_({ctas, k_tiles, ends_as_the_whole});
    cycles_simulated_ += times.cycles;
    return times;
  }

  /// From `grid`, of the second length, to all CTAs.
  double with_all_ctas(const GridTimes& grid, std::int64_t k_tiles) {
    const auto cycles = static_cast<double>(grid.cycles);
    if (cta_stretch_.repeats == 0) {
      return cycles;
    }
    const double left_out =
        extent_.stays
            ? cycles - static_cast<double>(
                           simulated(cta_stretch_.first, k_tiles, last_round_counts_).cycles)
            : end_of(grid, warm_up_ + fill_) - end_of(grid, warm_up_);
    return cycles + static_cast<double>(cta_stretch_.repeats) * std::max(0.0, left_out);
  }

  /// What the k-tiles between the first depth and the second one add to all CTAs, where `deep`, of
  /// the second depth, took `cycles` with all CTAs.
  double of_a_stretch(const GridTimes& deep, double cycles) {
    const bool uneven = last_round_counts_ && extent_.empty > kMostEmpty;
    if (extent_.stays || extent_.resident > 1 || extent_.ctas <= 2 * fill_ || uneven) {
      const GridTimes shallow =
          simulated(cta_stretch_.second, tile_stretch_.first, last_round_counts_);
      return cycles - with_all_ctas(shallow, tile_stretch_.first);
    }
    const GridTimes shallow = simulated(2 * fill_, tile_stretch_.first, false);
    const double of_one = end_of(deep, fill_) - end_of(shallow, fill_);
    const double of_two = end_of(deep, 2 * fill_) - end_of(shallow, 2 * fill_);
    const double fills = static_cast<double>(extent_.ctas) / static_cast<double>(fill_);
    return of_one + (fills - 1) * (of_two - of_one);
  }

  const GridExtent extent_;
  const std::function<GridTimes(const ShortGrid&)>& simulate_;  // of the caller, for one call
  const std::int64_t fill_, warm_up_;
  const bool last_round_counts_;
  const Stretch cta_stretch_, tile_stretch_;
  std::int64_t cycles_simulated_ = 0;
};

}  // namespace

ExtrapolatedCycles extrapolate_cycles(const GridExtent& extent,
                                      const std::function<GridTimes(const ShortGrid&)>& simulate) {
  return Extrapolation(extent, simulate).cycles();
}

}  // namespace sptc::sim
