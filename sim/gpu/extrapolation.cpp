// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include <array>
#include <optional>

namespace sptc::sim {
namespace {

// Depths are compared a whole number of these apart, so that loop periods of 1, 2 and 4 k-tiles are
// all seen.
constexpr std::int64_t kTileStride = 4;
// k-tiles that fill the pipeline, first try and second.
constexpr std::array<std::int64_t, 2> kWarmUpTiles{8, 24};
// Fills of the SM that are simulated to see a period: one to start, one to end, three to compare.
constexpr std::int64_t kFills = 5;

/// CTAs end in a pattern that repeats every `ctas`, `cycles` later each time.
struct Period {
  std::int64_t ctas = 0;
  std::int64_t cycles = 0;
};

/// Whether the ends repeat every `ctas` on the full SM: from the second fill on, and before the
/// last fill, in which nothing comes after.
std::optional<Period> period_of(const CtaEnds& ends, std::int64_t resident, std::int64_t ctas) {
  const auto at = [&](std::int64_t i) { return ends[static_cast<std::size_t>(i)]; };
  const auto full = static_cast<std::int64_t>(ends.size()) - resident;
  const std::int64_t first = resident + ctas;
  const std::int64_t cycles = at(first) - at(first - ctas);
  for (std::int64_t i = first; i < full; ++i) {
    if (at(i) - at(i - ctas) != cycles) {
      return std::nullopt;
    }
  }
  return Period{ctas, cycles};
}

std::optional<Period> find_period(const CtaEnds& ends, std::int64_t resident) {
  for (std::int64_t ctas = 1; ctas <= resident; ++ctas) {
    if (const auto period = period_of(ends, resident, ctas)) {
      return period;
    }
  }
  return std::nullopt;
}

/// Value `strides` beyond the last of three equidistant points, where they are on one line.
std::optional<std::int64_t> on_line(const std::array<std::int64_t, 3>& points,
                                    std::int64_t strides) {
  const std::int64_t slope = points[2] - points[1];
  if (points[1] - points[0] != slope) {
    return std::nullopt;
  }
  return points[2] + slope * strides;
}

class Extrapolation {
 public:
  Extrapolation(const GridExtent& extent,
                const std::function<CtaEnds(std::int64_t ctas, std::int64_t k_tiles)>& simulate)
      : extent_(extent), simulate_(simulate) {}

  ExtrapolatedCycles run() {
    for (const std::int64_t warm_up : kWarmUpTiles) {
      const std::int64_t depth = warm_up + extent_.k_tiles % kTileStride;
      if (extent_.k_tiles > depth + 2 * kTileStride && extrapolate_depth(depth)) {
        return result_;
      }
    }
    if (!(many_ctas() && extrapolate_ctas())) {
      result_.cycles = simulate(extent_.ctas, extent_.k_tiles).back();
      result_.extrapolated = false;
    }
    return result_;
  }

 private:
  /// A grid that is shorter in CTAs: how long it takes, and how much longer with each further
  /// period.
  struct Shortened {
    std::int64_t end = 0;
    Period period;
  };

  bool many_ctas() const { return extent_.ctas > (kFills + 2) * extent_.resident; }

  CtaEnds simulate(std::int64_t ctas, std::int64_t k_tiles) {
    CtaEnds ends = simulate_(ctas, k_tiles);
    result_.cycles_simulated += ends.back();
    return ends;
  }

  /// Simulates as few CTAs as show the period and end in the same phase of it as the whole grid.
  std::optional<Shortened> shorten(std::int64_t k_tiles) {
    if (!many_ctas()) {
      return Shortened{simulate(extent_.ctas, k_tiles).back(), {}};
    }
    const std::int64_t fills = kFills * extent_.resident;
    const CtaEnds ends = simulate(fills, k_tiles);
    const auto period = find_period(ends, extent_.resident);
    if (!period) {
      return std::nullopt;
    }
    const std::int64_t rest = (extent_.ctas - fills) % period->ctas;
    return Shortened{rest == 0 ? ends.back() : simulate(fills + rest, k_tiles).back(), *period};
  }

  std::int64_t periods_left(const Period& period) const {
    return period.ctas == 0 ? 0 : (extent_.ctas - kFills * extent_.resident) / period.ctas;
  }

  bool extrapolate_depth(std::int64_t depth) {
    std::array<std::int64_t, 3> ends{};
    std::array<std::int64_t, 3> periods{};
    std::int64_t repeats = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto shortened = shorten(depth + static_cast<std::int64_t>(i) * kTileStride);
      if (!shortened || (i > 0 && periods_left(shortened->period) != repeats)) {
        return false;
      }
      ends[i] = shortened->end;
      periods[i] = shortened->period.cycles;
      repeats = periods_left(shortened->period);
    }
    const std::int64_t strides = (extent_.k_tiles - depth) / kTileStride - 2;
    const auto end = on_line(ends, strides);
    const auto period = on_line(periods, strides);
    if (!end || !period) {
      return false;
    }
    result_.cycles = *end + repeats * *period;
    result_.extrapolated = true;
    return true;
  }

  bool extrapolate_ctas() {
    const auto shortened = shorten(extent_.k_tiles);
    if (!shortened) {
      return false;
    }
    result_.cycles = shortened->end + periods_left(shortened->period) * shortened->period.cycles;
    result_.extrapolated = true;
    return true;
  }

  const GridExtent& extent_;
  const std::function<CtaEnds(std::int64_t ctas, std::int64_t k_tiles)>& simulate_;
  ExtrapolatedCycles result_;
};

}  // namespace

ExtrapolatedCycles extrapolate_cycles(
    const GridExtent& extent,
    const std::function<CtaEnds(std::int64_t ctas, std::int64_t k_tiles)>& simulate) {
  return Extrapolation(extent, simulate).run();
}

}  // namespace sptc::sim
