// SPDX-License-Identifier: Apache-2.0
// The detection of periods on grids whose length is a formula.
#include "sim/gpu/extrapolation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace sptc::gpu {
namespace {

using Simulate = std::function<GridTimes(const ShortGrid&)>;

using Round = std::function<std::int64_t(std::int64_t)>;

/// A CTA that starts in cycle `start` and has k-tile k of `k_tiles` `round(k)` cycles later.
CtaTimes cta_from(std::int64_t start, std::int64_t k_tiles, const Round& round) {
  CtaTimes cta{start + round(k_tiles), {}};
  for (std::int64_t k = 0; k < k_tiles; ++k) {
    cta.tiles.push_back(start + round(k));
  }
  return cta;
}

/// A grid on one SM that takes `start` cycles, then, per round of CTAs, what `round` says of its
/// depth, and `stores` beyond the end of its last CTA.
Simulate grid(std::int64_t resident, std::int64_t start, const Round& round, std::int64_t stores = 0) {
  return [=](const ShortGrid& grid) {
    GridTimes times{0, {{}}};
    for (std::int64_t cta = 0; cta < grid.ctas; ++cta) {
      times.ctas[0].push_back(cta_from(start + cta / resident * round(grid.k_tiles), grid.k_tiles, round));
    }
    times.cycles = times.ctas[0].back().end + stores;
    return times;
  };
}

/// A grid on one SM of CTAs one behind the other, of which CTA `cta`, counted from 1, takes
/// `cycles(cta, grid)`.
Simulate one_by_one(const std::function<std::int64_t(std::int64_t, const ShortGrid&)>& cycles) {
  return [=](const ShortGrid& grid) {
    GridTimes times{0, {{}}};
    for (std::int64_t cta = 1; cta <= grid.ctas; ++cta) {
      times.cycles += cycles(cta, grid);
      times.ctas[0].push_back({times.cycles, {}});
    }
    return times;
  };
}

/// Two SMs; the grid takes as long as on the first one.
GridTimes beside(GridTimes first, const GridTimes& second) {
  first.ctas.push_back(second.ctas[0]);
  return first;
}

std::int64_t whole(const GridExtent& extent, const Simulate& simulate) {
  return simulate({extent.ctas, extent.k_tiles}).cycles;
}

TEST(ExtrapolateCycles, IsExactWhereDepthAndRoundsArePeriodic) {
  for (const std::int64_t resident : {1, 2, 3}) {
    const auto simulate = grid(
        resident, 17, [](std::int64_t k) { return 40 + 130 * k; }, 90);
    for (const std::int64_t ctas : {1, 2, 5, 6, 7, 40, 41, 1000}) {
      for (const std::int64_t k_tiles : {1, 2, 15, 16, 17, 18, 19, 20, 100, 4097}) {
        for (const bool stays : {false, true}) {
          const GridExtent extent{ctas, k_tiles, resident, stays};
          const ExtrapolatedCycles result = extrapolate_cycles(extent, simulate);
          EXPECT_EQ(result.cycles, whole(extent, simulate)) << ctas << " " << k_tiles;
        }
      }
    }
  }
}

TEST(ExtrapolateCycles, SeesPeriodsOfTwoAndFourTiles) {
  const auto simulate = grid(1, 5, [](std::int64_t k) { return 100 * k + (k % 4) * 7; });
  for (std::int64_t k_tiles = 30; k_tiles < 50; ++k_tiles) {
    const GridExtent extent{3, k_tiles, 1, false, 4};
    const ExtrapolatedCycles result = extrapolate_cycles(extent, simulate);
    EXPECT_TRUE(result.extrapolated);
    EXPECT_EQ(result.cycles, whole(extent, simulate)) << k_tiles;
  }
}

TEST(ExtrapolateCycles, AnAlmostEmptyLastRoundKeepsItsOwnTimePerTile) {
  // 100 cycles per k-tile, and 60 in the last round, in which few SMs share the memory.
  const auto simulate = [](const ShortGrid& grid) {
    GridTimes times{0, {{}}};
    for (std::int64_t cta = 0; cta < grid.ctas; ++cta) {
      const bool last = grid.ends_as_the_whole && cta + 1 == grid.ctas;
      times.ctas[0].push_back(
          cta_from(times.cycles, grid.k_tiles, [=](std::int64_t k) { return (last ? 60 : 100) * k; }));
      times.cycles = times.ctas[0].back().end;
    }
    return times;
  };
  const GridExtent extent{4, 128, 1, false, 4};
  const ExtrapolatedCycles result = extrapolate_cycles(extent, simulate);
  EXPECT_TRUE(result.extrapolated);
  EXPECT_EQ(result.cycles, 128 * (3 * 100 + 60));
}

TEST(ExtrapolateCycles, TakesTheMeanOfSmsOfWhichOneIsSlower) {
  const auto fast = grid(1, 0, [](std::int64_t k) { return 100 * k; });
  const auto slow = grid(1, 0, [](std::int64_t k) { return 120 * k; });
  const auto simulate = [&](const ShortGrid& grid) { return beside(slow(grid), fast(grid)); };
  // Five CTAs on the slow one, and one where the last round counts; the others as on both.
  EXPECT_EQ(extrapolate_cycles({30, 16, 1}, simulate).cycles, 6 * 1920 + 24 * (1920 + 1600) / 2);
  EXPECT_EQ(extrapolate_cycles({100, 16, 1}, simulate).cycles, 5 * 1920 + 95 * (1920 + 1600) / 2);
}

// Two CTAs of an SM that takes 100 cycles for a k-tile, half a CTA out of step: the one that has
// begun last gets three of four k-tiles.
TEST(ExtrapolateCycles, AnSmTakesAsLongForATileWhicheverOfItsCtasGetsIt) {
  const Simulate simulate = [](const ShortGrid& grid) {
    GridTimes times{0, {{}}};
    const std::int64_t half = 100 * grid.k_tiles, faster = 3 * grid.k_tiles / 4;
    for (std::int64_t cta = 0; cta < grid.ctas; ++cta) {
      times.ctas[0].push_back(cta_from(cta * half, grid.k_tiles, [=](std::int64_t k) {
        return k <= faster ? k * half / faster : half + (k - faster) * half / (grid.k_tiles - faster);
      }));
    }
    times.cycles = times.ctas[0].back().end;
    return times;
  };
  const GridExtent extent{80, 400, 2};
  const auto all = static_cast<double>(whole(extent, simulate));
  EXPECT_NEAR(static_cast<double>(extrapolate_cycles(extent, simulate).cycles), all, 0.02 * all);
}

TEST(ExtrapolateCycles, AGridOfOneRoundEndsWithTheCtasThatAreNotAtItsEdge) {
  const auto whole_tile = grid(1, 0, [](std::int64_t k) { return 100 * k; });
  const auto at_edge = grid(1, 0, [](std::int64_t k) { return 70 * k; });
  const auto simulate = [&](const ShortGrid& short_grid) {
    GridTimes both = beside(whole_tile(short_grid), at_edge(short_grid));
    both.ctas[0][0].bytes = 2;
    both.ctas[1][0].bytes = 1;
    return both;
  };
  EXPECT_EQ(extrapolate_cycles({1, 1000, 1}, simulate).cycles, 100000);
}

TEST(ExtrapolateCycles, CtasOfAnSmThatRunOneAfterTheOtherAddUp) {
  // Two share an SM; the third one, whose warps are younger, gets its turn when they are through.
  const auto simulate = [](const ShortGrid& grid) {
    GridTimes times{0, {{}}};
    for (const std::int64_t start : {0, 50}) {
      times.ctas[0].push_back(cta_from(start, grid.k_tiles, [](std::int64_t k) { return 200 * k; }));
    }
    times.ctas[0].push_back(cta_from(times.ctas[0].back().end, grid.k_tiles, [](std::int64_t k) { return 120 * k; }));
    times.cycles = times.ctas[0].back().end;
    return times;
  };
  const GridExtent extent{3, 1000, 3};
  EXPECT_EQ(extrapolate_cycles(extent, simulate).cycles, whole(extent, simulate));
}

TEST(ExtrapolateCycles, AGridOfOneRoundEndsWithTheSmsThatHaveMostCtas) {
  const auto two = grid(2, 0, [](std::int64_t k) { return 200 * k; });
  const auto one = grid(2, 0, [](std::int64_t k) { return 110 * k; });
  const auto simulate = [&](const ShortGrid& short_grid) {
    ShortGrid less = short_grid;
    less.ctas -= 1;
    return beside(two(short_grid), one(less));
  };
  EXPECT_EQ(extrapolate_cycles({2, 1000, 2}, simulate).cycles, 200'000);
}

TEST(ExtrapolateCycles, AnSmMayHaveMoreCtasThanItsShareAndAnotherOneFewer) {
  const auto simulate = [](const ShortGrid& short_grid) {
    const Round round = [](std::int64_t k) { return 100 * k; };
    ShortGrid more = short_grid, fewer = short_grid;
    more.ctas += 1;
    fewer.ctas -= 1;
    return beside(grid(1, 0, round)(more), grid(1, 0, round)(fewer));
  };
  const std::int64_t cycles = extrapolate_cycles({3, 1000, 1}, simulate).cycles;
  EXPECT_GE(cycles, 3 * 100000);
  EXPECT_LT(cycles, 4 * 100000);
}

TEST(ExtrapolateCycles, LooksAtTheMainLoopOnceThePipelineIsFilledAndWhileItIsFed) {
  // 50 cycles less for each of the first six k-tiles, and 30 less for each of the last three.
  const auto simulate = [](const ShortGrid& grid) {
    const std::int64_t all = grid.k_tiles;
    const CtaTimes cta = cta_from(0, all, [all](std::int64_t k) {
      return 100 * k - 50 * std::min<std::int64_t>(k, 6) - 30 * std::max<std::int64_t>(0, k - (all - 3));
    });
    return GridTimes{cta.end, {{cta}}};
  };
  EXPECT_EQ(extrapolate_cycles({1, 1000, 1, false, 6, 4}, simulate).cycles, 100000 - 300 - 90);
}

TEST(ExtrapolateCycles, LeavesTheSecondRoundOutOfThePeriodAndKeepsTheRaggedLastOne) {
  // 100 cycles a CTA; 30 more in the second round, 60 fewer in the last one of a ragged grid.
  const auto simulate = one_by_one([](std::int64_t cta, const ShortGrid& grid) {
    const bool ragged = cta == grid.ctas && grid.ends_as_the_whole;
    return 100 + (cta == 2 ? 30 : 0) - (ragged ? 60 : 0);
  });
  EXPECT_EQ(extrapolate_cycles({10, 12, 1}, simulate).cycles, 1000 + 30 - 60);
  EXPECT_EQ(extrapolate_cycles({60, 12, 1}, simulate).cycles, 6000 + 30 - 60);
}

TEST(ExtrapolateCycles, SmsThatShareAMemoryWarmUpForFourRounds) {
  // 100 cycles a CTA; 30, 20 and 10 more in the second to fourth round.
  const auto simulate = one_by_one([](std::int64_t cta, const ShortGrid&) {
    return 100 + (cta == 1 ? 0 : std::max<std::int64_t>(0, 50 - 10 * cta));
  });
  const GridExtent extent{10, 12, 1};
  const ExtrapolatedCycles result = extrapolate_cycles(extent, simulate);
  EXPECT_TRUE(result.extrapolated);
  EXPECT_EQ(result.cycles, whole(extent, simulate));
}

TEST(ExtrapolateCycles, SimulatesShortGridsWhole) {
  const auto simulate = grid(2, 3, [](std::int64_t k) { return 10 * k; });
  const ExtrapolatedCycles result = extrapolate_cycles({2, 8, 2}, simulate);
  EXPECT_FALSE(result.extrapolated);
  EXPECT_EQ(result.cycles, 83);
  EXPECT_EQ(result.cycles_simulated, 83);
}

TEST(ExtrapolateCycles, SimulatesFarLessThanTheWholeOfALargeGrid) {
  const auto simulate = grid(2, 17, [](std::int64_t k) { return 40 + 130 * k; });
  const ExtrapolatedCycles result = extrapolate_cycles({1000, 1000, 2}, simulate);
  EXPECT_EQ(result.cycles, 17 + 500 * (40 + 130 * 1000));  // 500 rounds of two CTAs
  EXPECT_LT(result.cycles_simulated, result.cycles / 500);
}

}  // namespace
}  // namespace sptc::gpu
