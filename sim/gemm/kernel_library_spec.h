// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::sim {

/// Rows of D of the asynchronous instructions of kernels: of wgmma 64, of tcgen05.mma the 128 of
/// the tensor memory (PTX ISA).
constexpr int asynchronous_rows(mma::MmaFamily family) {
  return family == mma::MmaFamily::kTcgen05 ? 128 : 64;
}

/// Tiles of a kernel [elements of D], and what it is made of.
struct TileShape {
  int cta_m = 0, cta_n = 0;
  int warp_m = 0, warp_n = 0;
  mma::MmaFamily family = mma::MmaFamily::kMma;  ///< mma.sync where the SM does not have it
  int cta_group = 1;                             ///< of tcgen05.mma: CTAs that share an instruction

  bool operator==(const TileShape&) const = default;
};

/// A kernel that the GEMM library has, and how good its main loop is.
struct TileCandidate : TileShape {
  double main_loop_percent = 100;  ///< of the multiply rate, where nothing else is in the way

  bool operator==(const TileCandidate&) const = default;
};

/// Which tile the library's dense kernels of 16-bit types have for some sizes, although others take
/// less time: learned from a profile, with nothing that explains it.
struct ChoiceRule {
  std::int64_t rows_above = 0;        ///< M of D, more than
  std::int64_t columns_from = 0;      ///< N, at least
  std::int64_t k_from = 0, k_to = 0;  ///< K, both included
  int cta_m = 0, cta_n = 0;
  double main_loop_percent = 100;  ///< of that kernel, as of a TileCandidate
};

/// What stands for the GEMM library of a GPU and for the host that launches its kernels.
struct KernelLibrarySpec {
  // Time that is not spent in the SMs.
  double launch_us = 0;            ///< a kernel, first block to start and last one to be noticed
  double reduction_launch_us = 0;  ///< the second kernel of split-K, which sums the slices

  /// How well DRAM works beside the SMs: a launch takes (SMs^p + DRAM^p)^(1/p) of the times that
  /// each needs by itself. 1: one after the other; very large: as long as the slowest.
  double overlap_exponent = 0;

  /// How much of the idle time of the last wave of CTAs a launch is longer by, against work that is
  /// divided evenly: libraries have kernels for ragged waves (other tiles, slices of K for the
  /// tail) and the clock gains by SMs that idle. Never below the time of one CTA.
  double whole_wave_percent = 100;

  /// At which the epilogue of the last CTA of an SM stores D, with nothing left to hide it behind
  /// [bytes per cycle and SM]; the port of the SM is not exceeded.
  double epilogue_bytes_per_cycle = 0;

  /// Share of D that DRAM takes only behind the multiplication, with nothing beside it.
  double exposed_store_percent = 0;

  /// CTAs of a cluster of kernels of warpgroups; 1: none, each copies for itself.
  int cluster_ctas = 1;

  // Clock under sustained load: boost up to this share of the peak multiply rate, then falling with
  // a power of it.
  double sustained_knee_percent = 0;
  double sustained_exponent = 0;
  /// The load of a launch that multiplies zeros, as a share of one with random operands.
  double sustained_zeros_percent = 100;
  /// How far that load is the one of the layer that a launch is part of, instead of its own: power
  /// is averaged over longer than short launches take.
  double sustained_layer_percent = 0;

  /// What the library chooses from: the kernel with the least estimated time runs.
  std::vector<TileCandidate> tiles;
  std::vector<ChoiceRule> rules;  ///< and where something else decides; the first that applies
  double sparse_main_loop_percent = 100;  ///< what the main loop of no 2:4 kernel exceeds
  /// No parameter of a library: false takes tiles and waves for as divisible as the work is, to
  /// see what their quantisation is worth (sim/validate/ablation.h).
  bool whole_tiles = true;
  std::string fitted_on;  ///< what the constants were fitted on and what was held out
};

}  // namespace sptc::sim
