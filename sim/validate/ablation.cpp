// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/ablation.h"

#include <fmt/format.h>

#include <array>

namespace sptc::sim {
namespace {

// Large enough that nothing waits for it.
constexpr double kNoLimit = 1e6;
constexpr std::int64_t kNoCapacity = std::int64_t{1} << 40;
constexpr double kPerfectOverlap = 64;

constexpr std::array<Ablation, 6> kAblations = {{
    {"load on the clock", [](GpuSpec&, RunOptions& options) { options.clock = {}; }},
    {"tile and wave quantisation",
     [](GpuSpec& gpu, RunOptions&) { gpu.kernels.whole_tiles = false; }},
    {"split-K", [](GpuSpec&, RunOptions& options) { options.kernel.split_k = 1; }},
    {"limits of the L2",
     [](GpuSpec& gpu, RunOptions&) {
       gpu.memory.l2_bytes_per_cycle = kNoLimit;
       gpu.memory.l2_capacity = Bytes(kNoCapacity);
     }},
    {"imperfect overlap with DRAM",
     [](GpuSpec& gpu, RunOptions&) { gpu.kernels.overlap_exponent = kPerfectOverlap; }},
    {"preferences of the library",
     [](GpuSpec& gpu, RunOptions&) {
       for (TileCandidate& tile : gpu.kernels.tiles) {
         tile.preference = 0;
       }
       gpu.kernels.split_k_preference = 0;
       gpu.kernels.split_k_preference_per_log2 = 0;
       gpu.kernels.one_wave_preference = 0;
     }},
}};

}  // namespace

std::span<const Ablation> ablations() {
  return kAblations;
}

std::string fitted_numbers(const GpuSpec& gpu) {
  // launch, second launch of split-K, overlap, knee and exponent of the clock; per tile main loop
  // and preference, and three more preferences.
  constexpr int kConstants = 5;
  constexpr std::size_t kPerTile = 2, kBesideTiles = 3;
  return fmt::format(
      "fitted numbers: {} constants of the GPU; of its library {}, two for each of {} tiles and {} "
      "for split-K and single waves",
      kConstants, kPerTile * gpu.kernels.tiles.size() + kBesideTiles, gpu.kernels.tiles.size(),
      kBesideTiles);
}

}  // namespace sptc::sim
