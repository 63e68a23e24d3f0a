// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/extrapolation.h"

#include "models/base/error.h"
#include "models/base/shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace sptc::gpu {
namespace {

// k-tiles until the pipeline is filled and the warps are out of step; more where CTAs share the SM,
// and where the results of the tile before are stored meanwhile.
constexpr std::int64_t kWarmUpTiles = 6;
constexpr std::int64_t kWarmUpTilesOfSeveral = 8;
constexpr std::int64_t kWarmUpTilesBehindStores = 12;

// k-tiles of a CTA that are looked at, or more for whole periods: warps drift, and no two periods
// are alike. Of grids of several periods of CTAs each period shows some.
constexpr std::int64_t kTilesSeen = 12;
constexpr std::int64_t kTilesSeenOfSeveralPeriods = 6;

// k-tiles that an SM executes, one CTA behind the other, in a period of CTAs. CTAs of few k-tiles
// need several rounds to show how they follow each other: their stores pile up until they pace the
// rest. CTAs that stay copy the first tiles of the next output meanwhile, and settle sooner.
constexpr std::int64_t kFewTiles = 8;
constexpr std::int64_t kTilesOfPeriod = 32;
constexpr std::int64_t kTilesOfPeriodThatStays = 16;

// Rounds among which the last one, which need not fill the GPU, is not seen: less than
// 2 % of the time.
constexpr std::int64_t kManyRounds = 64;

/// CTAs of an SM in a period: one round, or as many rounds as CTAs of few k-tiles need.
std::int64_t cta_period_of(const GridExtent& extent) {
  const std::int64_t tiles = extent.stays ? kTilesOfPeriodThatStays : kTilesOfPeriod;
  return extent.resident * (extent.k_tiles <= kFewTiles ? tiles / extent.k_tiles : 1);
}

// Rounds until SMs that share one memory are so far apart that the stores of some fall to the main
// loops of others.
constexpr std::int64_t kRoundsOfDrift = 4;

/// CTAs of an SM to simulate, and how many periods more the whole grid has.
struct Stretch {
  std::int64_t simulated = 0;
  std::int64_t repeats = 0;  ///< 0: all are simulated
};

/// What costs no less is simulated whole.
Stretch stretch_of(std::int64_t length, std::int64_t warm_up, std::int64_t period) {
  const std::int64_t simulated = warm_up + std::max<std::int64_t>(0, length - warm_up) % period + period;
  if (length <= simulated) {
    return {length, 0};
  }
  return {simulated, (length - simulated) / period};
}

struct Mean {
  double sum = 0, count = 0;

  void add(double value) {
    sum += value;
    count += 1;
  }
  double value() const {
    base::ensure(count > 0, "a mean of nothing");
    return sum / count;
  }
};

/// Cycle in which the CTAs `count` of the SMs ended. An SM whose partition of the L2 is busier than
/// the other one gets fewer CTAs for it: the mean.
double end_of(const GridTimes& grid, std::int64_t count) {
  Mean end;
  for (const std::vector<CtaTimes>& ctas : grid.ctas) {
    if (static_cast<std::int64_t>(ctas.size()) >= count) {
      end.add(static_cast<double>(ctas[static_cast<std::size_t>(count - 1)].end));
    }
  }
  return end.value();
}

/// Cycles of an SM: those behind `from`, up to `to`.
struct Window {
  std::int64_t from, to;

  void widen(std::int64_t begin, std::int64_t end) {
    from = std::min(from, begin);
    to = std::max(to, end);
  }
};

/// k-tiles of `cta` that have been used by cycle `at` of its main loop, with the part of the next.
double used_by(const CtaTimes& cta, std::int64_t at) {
  const auto next = std::upper_bound(cta.tiles.begin(), cta.tiles.end(), at);
  if (next == cta.tiles.begin() || next == cta.tiles.end()) {
    return static_cast<double>(next - cta.tiles.begin());
  }
  const auto before = static_cast<double>(*(next - 1));
  return static_cast<double>(next - cta.tiles.begin()) +
         (static_cast<double>(at) - before) / (static_cast<double>(*next) - before);
}

/// What counts of a window: the k-tiles whose use it has, or also a part of those before and
/// behind, as if each were used from the one before on.
enum class Counted { kWhole, kWithParts };

double tiles_in(const Window& window, const CtaTimes& cta, Counted counted) {
  const double before = used_by(cta, window.from), after = used_by(cta, window.to);
  return counted == Counted::kWhole ? std::floor(after) - std::floor(before) : after - before;
}

/// Cycles that the SM of `ctas` takes for a k-tile of any of them within `windows`; nothing where
/// it uses none there.
std::optional<double> cycles_per_tile(std::span<const Window> windows, std::span<const CtaTimes> ctas,
                                      Counted counted) {
  double cycles = 0, tiles = 0;
  for (const Window& window : windows) {
    double of_window = 0;
    for (const CtaTimes& cta : ctas) {
      of_window += tiles_in(window, cta, counted);
    }
    cycles += static_cast<double>(window.to - window.from);
    tiles += of_window;
  }
  return tiles > 0 ? std::optional(cycles / tiles) : std::nullopt;
}

/// k-tiles that a CTA leaves out, which take what the `window` ones behind its tile `first` take.
struct LeftOut {
  std::int64_t tiles;
  std::size_t first, window;

  std::int64_t begin(const CtaTimes* cta) const { return cta->tiles.at(first); }
  std::int64_t end(const CtaTimes* cta) const { return cta->tiles.at(first + window); }

  /// What the mean of CTAs that share their SM takes.
  double side_by_side(std::span<const CtaTimes* const> ctas) const {
    Mean mean;
    for (const CtaTimes* const cta : ctas) {
      mean.add(static_cast<double>(end(cta) - begin(cta)));
    }
    return mean.value() * static_cast<double>(tiles) / static_cast<double>(window);
  }
  /// The same where the turn of some may come when others are through: those come on top.
  double in_turns(std::vector<const CtaTimes*> ctas) const {
    std::sort(ctas.begin(), ctas.end(),
              [&](const CtaTimes* left, const CtaTimes* right) { return begin(left) < begin(right); });
    double sum = 0;
    for (auto cta = ctas.begin(); cta != ctas.end();) {
      const auto others =
          std::find_if(cta, ctas.end(), [&](const CtaTimes* other) { return begin(other) > (*cta)->tiles.back(); });
      sum += side_by_side({cta, others});
      cta = others;
    }
    return sum;
  }

  /// What `ctas` take together on an SM with so many cycles for a k-tile of any CTA.
  double one_by_one(std::span<const CtaTimes* const> ctas, double cycles_per_tile) const {
    return cycles_per_tile * static_cast<double>(tiles) * static_cast<double>(ctas.size());
  }

  /// The cycles in which the first of `ctas` is at its tile `first` until the last one is through
  /// its `window`. Nothing where no other of the CTAs of the SM, `all`, uses a k-tile meanwhile.
  std::optional<Window> shared_window(std::span<const CtaTimes* const> ctas, std::span<const CtaTimes> all) const {
    Window span{begin(ctas.front()), end(ctas.front())};
    for (const CtaTimes* const cta : ctas) {
      span.widen(begin(cta), end(cta));
    }
    const bool shared = std::any_of(all.begin(), all.end(), [&](const CtaTimes& cta) {
      return std::find(ctas.begin(), ctas.end(), &cta) == ctas.end() && tiles_in(span, cta, Counted::kWhole) > 0;
    });
    return shared ? std::optional(span) : std::nullopt;
  }

  /// Where, during the main loops of `ctas` from their tile `first` on, as many of `all` CTAs of
  /// the SM are in theirs as it has room for.
  std::vector<Window> full_house(std::span<const CtaTimes* const> ctas, std::span<const CtaTimes> all,
                                 std::int64_t resident) const {
    Window span{begin(ctas.front()), ctas.front()->tiles.back()};
    for (const CtaTimes* const cta : ctas) {
      span.widen(begin(cta), cta->tiles.back());
    }
    std::vector<std::int64_t> changes;
    for (const CtaTimes& cta : all) {
      changes.push_back(std::clamp(begin(&cta), span.from, span.to));
      changes.push_back(std::clamp(cta.tiles.back(), span.from, span.to));
    }
    std::sort(changes.begin(), changes.end());
    std::vector<Window> result;
    for (std::size_t i = 1; i < changes.size(); ++i) {
      const Window between{changes[i - 1], changes[i]};
      const auto working = std::count_if(all.begin(), all.end(), [&](const CtaTimes& cta) {
        return begin(&cta) <= between.from && between.to <= cta.tiles.back();
      });
      if (between.from < between.to && working == resident) {
        result.push_back(between);
      }
    }
    return result;
  }
};

class Extrapolation {
 public:
  Extrapolation(const GridExtent& extent, const std::function<GridTimes(const ShortGrid&)>& simulate)
      : extent_(extent),
        simulate_(simulate),
        cta_period_(cta_period_of(extent)),
        warm_up_(base::round_up(kRoundsOfDrift * extent.resident, cta_period_)),
        last_round_counts_(extent.ctas < kManyRounds * extent.resident),
        ctas_(stretch_of(extent.ctas, last_round_counts_ ? warm_up_ + 1 : warm_up_, cta_period_)),
        several_periods_(ctas_.simulated > 2 * cta_period_) {}

  ExtrapolatedCycles cycles() const {
    const std::int64_t window =
        base::round_up(several_periods_ ? kTilesSeenOfSeveralPeriods : kTilesSeen, extent_.tile_period);
    const std::int64_t least = warm_up_tiles() + window + extent_.stages;
    const std::int64_t first =
        warm_up_tiles() + std::max<std::int64_t>(0, extent_.k_tiles - least) % extent_.tile_period;
    const std::int64_t depth = depth_of(first + window + extent_.stages);
    const GridTimes grid = simulate_({ctas_.simulated, depth, last_round_counts_});
    auto cycles = static_cast<double>(grid.cycles);
    if (ctas_.repeats > 0) {
      cycles += static_cast<double>(ctas_.repeats) *
                std::max(0.0, end_of(grid, warm_up_ + cta_period_) - end_of(grid, warm_up_));
    }
    if (depth < extent_.k_tiles) {
      cycles += of_every_period(
          grid, {extent_.k_tiles - depth, static_cast<std::size_t>(first), static_cast<std::size_t>(window)});
    }
    const bool whole = ctas_.repeats == 0 && depth == extent_.k_tiles;
    return {std::llround(cycles), !whole, grid.cycles};
  }

 private:
  std::int64_t warm_up_tiles() const {
    return extent_.stays ? kWarmUpTilesBehindStores : extent_.resident > 1 ? kWarmUpTilesOfSeveral : kWarmUpTiles;
  }

  /// Fewest k-tiles of a shortened CTA. Leaving out less than half of it gains little, and results
  /// that are stored after fewer k-tiles are more in the way.
  std::int64_t depth_of(std::int64_t least) const { return 2 * extent_.k_tiles <= 3 * least ? extent_.k_tiles : least; }

  /// CTAs of an SM in its period `period`, those that copy at least `bytes`. Where all SMs are
  /// there, one may get more CTAs than its share.
  std::vector<const CtaTimes*> of_period(const std::vector<CtaTimes>& ctas, std::int64_t period,
                                         std::int64_t bytes) const {
    std::vector<const CtaTimes*> result;
    for (std::size_t i = 0; i < ctas.size(); ++i) {
      const std::int64_t at = std::min(static_cast<std::int64_t>(i) / cta_period_, periods() - 1);
      if (at == period && ctas[i].bytes >= bytes) {
        result.push_back(&ctas[i]);
      }
    }
    return result;
  }

  std::int64_t periods() const { return base::ceil_div(ctas_.simulated, cta_period_); }

  /// Cycles for what `of_sm`, CTAs of period `period`, leave out on an SM that has `all`. Each
  /// period has CTAs of others beside its own, so where those are seen as well it is what the SM
  /// takes for a k-tile of any.
  double of_sm_in_period(const LeftOut& left_out, std::int64_t period, std::vector<const CtaTimes*> of_sm,
                         const std::vector<CtaTimes>& all) const {
    if (!several_periods_) {
      const std::vector<const CtaTimes*> with_edge = of_period(all, period, 0);
      const std::optional<Window> shared = left_out.shared_window(with_edge, all);
      const auto cycles = shared ? cycles_per_tile({&*shared, 1}, all, Counted::kWhole) : std::nullopt;
      return cycles ? left_out.one_by_one(with_edge, *cycles) : left_out.in_turns(std::move(of_sm));
    }
    // The SM is full, as nearly always in the whole grid; of its CTAs one may get on faster than
    // the other. A single one at a time shows by itself what it takes.
    const auto cycles = extent_.resident > 1 ? cycles_per_tile(left_out.full_house(of_sm, all, extent_.resident), all,
                                                               Counted::kWithParts)
                                             : std::nullopt;
    return cycles ? left_out.one_by_one(of_sm, *cycles) : left_out.side_by_side(of_sm);
  }

  /// What the SMs leave out in a period: the mean. Where there are only one or two, the SMs
  /// count that have most CTAs of at least `bytes` in it.
  std::optional<double> of_one_period(const GridTimes& grid, const LeftOut& left_out, std::int64_t period,
                                      std::int64_t bytes) const {
    std::size_t most = 1;
    Mean mean;
    for (const std::vector<CtaTimes>& ctas : grid.ctas) {
      std::vector<const CtaTimes*> of_sm = of_period(ctas, period, bytes);
      if (of_sm.size() > most && !several_periods_) {
        most = of_sm.size();
        mean = {};
      }
      if (of_sm.size() >= most) {
        mean.add(of_sm_in_period(left_out, period, std::move(of_sm), ctas));
      }
    }
    return mean.count > 0 ? std::optional(mean.value()) : std::nullopt;
  }

  /// What all periods leave out. Where there are more than one or two, SMs with less to do get more
  /// CTAs; else those CTAs count that are not at the edge.
  double of_every_period(const GridTimes& grid, const LeftOut& left_out) const {
    std::int64_t most = 0;
    for (const std::vector<CtaTimes>& ctas : grid.ctas) {
      for (const CtaTimes& cta : ctas) {
        most = several_periods_ ? most : std::max(most, cta.bytes);
      }
    }
    std::vector<double> cycles;
    for (std::int64_t period = 0; period < periods(); ++period) {
      const std::optional<double> heaviest = of_one_period(grid, left_out, period, most);
      cycles.push_back(heaviest ? *heaviest : of_one_period(grid, left_out, period, 0).value_or(0));
    }
    double sum = std::accumulate(cycles.begin(), cycles.end(), 0.0);
    if (ctas_.repeats > 0) {  // those are like the one behind the warm-up
      sum += static_cast<double>(ctas_.repeats) * cycles.at(static_cast<std::size_t>(warm_up_ / cta_period_));
    }
    return sum;
  }

  const GridExtent& extent_;
  const std::function<GridTimes(const ShortGrid&)>& simulate_;
  const std::int64_t cta_period_, warm_up_;  ///< CTAs of an SM: in a period, and until one is like the next
  const bool last_round_counts_;
  const Stretch ctas_;
  const bool several_periods_;
};

}  // namespace

ExtrapolatedCycles extrapolate_cycles(const GridExtent& extent,
                                      const std::function<GridTimes(const ShortGrid&)>& simulate) {
  return Extrapolation(extent, simulate).cycles();
}

}  // namespace sptc::gpu
