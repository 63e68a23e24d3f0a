// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sptc::sim {

/// A kernel that the GEMM library has: its tiles, how good its main loop is, and how much the
/// library likes it. A preference is added to the logarithm of the estimated time, so 0.1 means "as
/// if it took 10 % longer".
struct TileCandidate {
  int cta_m = 0, cta_n = 0;
  int warp_m = 0, warp_n = 0;
  double main_loop_percent = 100;  ///< of the multiply rate, where nothing else is in the way
  double preference = 0;

  bool operator==(const TileCandidate&) const = default;
};

/// What stands for the GEMM library of a GPU and for the host that launches its kernels.
struct KernelLibrarySpec {
  // Time that is not spent in the SMs.
  double launch_us = 0;            ///< a kernel, first block to start and last one to be noticed
  double reduction_launch_us = 0;  ///< the second kernel of split-K, which sums the slices

  /// How well DRAM works beside the SMs: a launch takes (SMs^p + DRAM^p)^(1/p) of the times that
  /// each needs by itself. 1: one after the other; very large: as long as the slowest.
  double overlap_exponent = 0;

  // Clock under sustained load: boost up to this share of the peak multiply rate, then falling with
  // a power of it.
  double sustained_knee_percent = 0;
  double sustained_exponent = 0;

  /// "Learned" choice between kernels: candidates, and the preference for cutting K in slices.
  std::vector<TileCandidate> tiles;
  double sparse_main_loop_percent = 100;   ///< what the main loop of no 2:4 kernel exceeds
  double split_k_preference = 0;           ///< any number of slices above one
  double split_k_preference_per_log2 = 0;  ///< per doubling of the slices
  double one_wave_preference = 0;          ///< all CTAs run at once
  /// No parameter of a library: false takes tiles and waves for as divisible as the work is, to
  /// see what their quantisation is worth (sim/validate/ablation.h).
  bool whole_tiles = true;
  std::string fitted_on;  ///< what the constants were fitted on and what was held out
};

}  // namespace sptc::sim
