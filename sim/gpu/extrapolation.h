// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sptc::gpu {

/// A grid on one SM, as far as its length matters.
struct GridExtent {
  std::int64_t ctas = 0;      ///< that this SM executes
  std::int64_t k_tiles = 0;   ///< main loop iterations of each
  std::int64_t resident = 1;  ///< CTAs at once
  bool stays = false;         ///< for several output tiles, which are what `ctas` counts
  /// Multiple of the periods that the main loop may have: stages that are filled in a burst, and
  /// fractions of cycles that add up.
  std::int64_t tile_period = 4;
  std::int64_t stages = 2;  ///< k-tiles for which nothing is copied any more at the end of a CTA
};

/// A grid that is simulated.
struct ShortGrid {
  std::int64_t ctas = 0;  ///< of an SM that has as many as any
  std::int64_t k_tiles = 0;
  bool ends_as_the_whole = true;  ///< its last round fills as many SMs as that of the whole grid
};

/// What a CTA took for one output tile.
struct CtaTimes {
  std::int64_t end = 0;             ///< cycle, or that of its last k-tile
  std::vector<std::int64_t> tiles;  ///< cycles in which its warps had each of its k-tiles
  std::int64_t bytes = 0;           ///< that it copies: fewer at the edge of the grid
};

/// What a grid took.
struct GridTimes {
  std::int64_t cycles = 0;                  ///< to its last store
  std::vector<std::vector<CtaTimes>> ctas;  ///< per SM, in the order of their ends
};

struct ExtrapolatedCycles {
  std::int64_t cycles = 0;
  bool extrapolated = false;
  std::int64_t cycles_simulated = 0;  ///< of the shorter grid
};

/// Cycles of a grid of identical CTAs from a shorter one, carried on along straight lines. A round
/// is as many CTAs of an SM as it holds at once; a period is the rounds that repeat: one, or
/// several where CTAs have few k-tiles.
///  - main loop: the k-tiles that each CTA leaves out take what others took, for whole periods of
///    it once the pipeline is filled;
///  - CTAs: four rounds, in which SMs that share one memory come apart, one period, and what the
///    grid has beyond whole ones are simulated. What this period takes, from the end of the CTAs
///    before it on, each of those takes that are left out.
/// Exact where main loop and rounds are periodic; tests/fidelity measures the rest. Short grids are
/// simulated whole.
ExtrapolatedCycles extrapolate_cycles(const GridExtent& extent,
                                      const std::function<GridTimes(const ShortGrid&)>& simulate);

}  // namespace sptc::gpu
