// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/ablation.h"

#include "sim/gemm/form_constants.h"

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

FittedNumbers fitted_numbers(const Architecture& architecture) {
  // Rows, columns, two of K, the tile and its main loop.
  constexpr std::size_t kNumbersOfRule = 6;
  const KernelLibrarySpec& library = architecture.gpu.kernels;
  FittedNumbers numbers{0, 0, library.tiles.size(), kNumbersOfRule * library.rules.size()};
  for (const Parameter& parameter : architecture.parameters) {
    if (parameter.pointer.starts_with("/kernels/")) {
      ++(parameter.evidence == "derived" ? numbers.of_gpu : numbers.set);
    }
  }
  return numbers;
}

std::string fitted_numbers_note(const Architecture& architecture) {
  const FittedNumbers numbers = fitted_numbers(architecture);
  return fmt::format(
      "fitted numbers: {} constants of the GPU ({} more are set, or those of another GPU), the "
      "main loops of {} tiles, that of sparse kernels, {} numbers in rules of the library's "
      "choice, and "
      "{} of the closed form, the same for all GPUs",
      numbers.of_gpu, numbers.set, numbers.tiles, numbers.of_rules, kNumbersOfForm);
}

}  // namespace sptc::sim
