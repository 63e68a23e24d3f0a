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
// Where the fit starts, and where it leaves tiles that hardly run.
constexpr double kUsualMainLoop = 95;

constexpr std::array<Ablation, 9> kAblations = {{
    {"load on the clock", [](GpuSpec&, RunOptions& options) { options.clock = {}; }},
    {"what ran around a launch, and zeros",
     [](GpuSpec& gpu, RunOptions&) {
       gpu.kernels.sustained_layer_percent = 0;
       gpu.kernels.sustained_zeros_percent = 100;
     }},
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
    {"stores that nothing hides",
     [](GpuSpec& gpu, RunOptions&) {
       gpu.kernels.epilogue_bytes_per_cycle = gpu.memory.sm_port_bytes_per_cycle;
       gpu.kernels.exposed_store_percent = 0;
     }},
    {"main loops of their own per tile",
     [](GpuSpec& gpu, RunOptions&) {
       for (TileCandidate& tile : gpu.kernels.tiles) {
         tile.main_loop_percent = kUsualMainLoop;
       }
     }},
    {"the rules of the library's choice",
     [](GpuSpec& gpu, RunOptions&) { gpu.kernels.rules.clear(); }},
}};

}  // namespace

std::span<const Ablation> ablations() {
  return kAblations;
}

std::string fitted_numbers(const GpuSpec& gpu) {
  // Two launches, overlap with DRAM, ragged waves, two of storing D, and four of the clock. Not all
  // are free on every GPU: configs/CALIBRATION.md.
  constexpr int kMostConstants = 10;
  // Rows, columns, two of K, the tile and its main loop.
  constexpr std::size_t kNumbersOfRule = 6;
  // Six of the form and three that the GPUs share with the model (kernel_estimate.cpp).
  constexpr int kOfClosedForm = 9;
  return fmt::format(
      "fitted numbers: at most {} constants of the GPU, the main loops of {} tiles, {} numbers in "
      "rules of the library's choice, and {} of the closed form, the same for all GPUs",
      kMostConstants, gpu.kernels.tiles.size(), kNumbersOfRule * gpu.kernels.rules.size(),
      kOfClosedForm);
}

}  // namespace sptc::sim
