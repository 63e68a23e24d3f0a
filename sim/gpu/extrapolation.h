// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sptc::sim {

/// A grid on one SM, as far as its length matters.
struct GridExtent {
  std::int64_t ctas = 0;      ///< that this SM executes
  std::int64_t k_tiles = 0;   ///< main loop iterations of each
  std::int64_t resident = 1;  ///< CTAs at once
  bool stays = false;         ///< for several output tiles, which are what `ctas` counts
  /// Multiple of the periods that the main loop may have: stages that are filled in a burst, and
  /// fractions of cycles that add up.
  std::int64_t tile_period = 4;
};

/// What a simulated grid took.
struct GridTimes {
  std::int64_t cycles = 0;  ///< to its last store
  /// Per simulated SM the cycle at which each CTA ended, in order.
  std::vector<std::vector<std::int64_t>> cta_ends;
};

struct ExtrapolatedCycles {
  std::int64_t cycles = 0;
  bool extrapolated = false;
  std::int64_t cycles_simulated = 0;  ///< of all runs that were made
};

/// Cycles of a grid of identical CTAs from runs of shorter grids, carried on along straight lines:
///  - main loop: two depths past the filling of the pipeline, `tile_period` apart;
///  - CTAs: two fills of the SMs, and what the grid has beyond whole fills behind them; the second
///    fill, from the end of the first on, is what is left out. Where a CTA stays for several output
///    tiles, so that no end shows where a fill ends: one fill and two.
/// Exact where main loop and fills are periodic; tests/fidelity measures the rest. Short grids are
/// simulated whole. `simulate` runs a grid of the given CTAs and k-tiles.
ExtrapolatedCycles extrapolate_cycles(
    const GridExtent& extent,
    const std::function<GridTimes(std::int64_t ctas, std::int64_t k_tiles)>& simulate);

}  // namespace sptc::sim
