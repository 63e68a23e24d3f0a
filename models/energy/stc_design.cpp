// SPDX-License-Identifier: Apache-2.0
#include "models/energy/stc_design.h"

#include "models/base/error.h"
#include "models/energy/stc_words.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace sptc::energy {
namespace {

constexpr int kMaxGroup = 64;

/// Bits of an index in the coordinate-payload format: the position in its group, in a power of two
/// of bits (2 for 2:4, 4 for 2:6 and 2:8).
int index_bits(int group) {
  const int bits = std::bit_width(static_cast<unsigned>(group - 1));
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(bits, 1))));
}

void check(const sparsity::Pattern& pattern) {
  if (pattern.kept < 1 || pattern.group < pattern.kept || pattern.group > kMaxGroup) {
    throw base::InputError("the pattern must be kept:group with 1 <= kept <= group <= " +
                           std::to_string(kMaxGroup) + ", not " + pattern.name());
  }
}

/// Words of one pass over the operands.
struct Traffic {
  std::int64_t weights = 0;        ///< kept elements of A
  std::int64_t weight_passes = 0;  ///< times A comes from DRAM
  std::int64_t weight_reads = 0;   ///< from shared memory
  std::int64_t activation_reads = 0;
  int bits_per_index = 0;  ///< 0: dense
};

Traffic traffic(const StcDesign& design, const StcResult& result,
                const sparsity::Pattern& pattern) {
  const base::GemmShape& padded = result.padded;
  const std::int64_t n_tiles = padded.n / design.n_tile;
  Traffic words;
  words.weights = padded.m * padded.k / pattern.group * pattern.kept;
  // Columns are the outer loop: A stays in shared memory beside a panel of B, or comes once per
  // panel. The published mappings decide by the size of the dense weights, whatever the pattern.
  const bool stays = padded.m * padded.k + padded.k * design.n_tile <= design.shared_memory_words;
  words.weight_passes = stays ? 1 : n_tiles;
  words.weight_reads = words.weights * n_tiles;
  words.activation_reads = padded.macs() / design.spatial_m;
  words.bits_per_index = pattern.kept == pattern.group ? 0 : index_bits(pattern.group);
  return words;
}

StcEnergy energy_of(const StcDesign& design, const StcResult& result, const Traffic& words) {
  const StcAccesses& accesses = result.accesses;
  const double metadata_share = words.bits_per_index / kWordBits;
  const double indices_per_row =
      words.bits_per_index > 0 ? kMetadataRowBits / words.bits_per_index : 1;
  const bool sparse = words.bits_per_index > 0;
  const auto rows = [](std::int64_t count, double per_row) {
    return static_cast<double>(count) / per_row;
  };
  const std::int64_t activations = result.padded.k * result.padded.n;
  const std::int64_t sums = result.macs / design.spatial_k;

  StcEnergy energy;
  energy.multiply_pj = static_cast<double>(result.macs) * design.multiply_accumulate_pj;
  energy.weight_registers_pj = static_cast<double>(accesses.weight_registers) *
                               design.weight_register_pj * (1 + metadata_share);
  energy.registers_pj =
      static_cast<double>(sums) * (design.register_read_pj + design.register_write_pj);
  energy.shared_memory_pj =
      rows(words.weight_reads + words.activation_reads, kWordsPerSharedMemoryRow) *
          design.shared_memory_read_pj +
      rows(words.weights * words.weight_passes + activations, kWordsPerSharedMemoryRow) *
          design.shared_memory_write_pj;
  energy.dram_pj = rows(accesses.dram, kWordsPerDramRow) * design.dram_pj;
  if (sparse) {
    // The published energies fill the metadata array once, however often the weights come.
    energy.shared_memory_pj +=
        rows(accesses.shared_memory_metadata_reads, indices_per_row) * design.metadata_read_pj +
        rows(words.weights, indices_per_row) * design.metadata_write_pj;
    energy.dram_pj += rows(accesses.dram_metadata, indices_per_row) * design.dram_metadata_pj;
  }
  return energy;
}

}  // namespace

StcResult evaluate(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Pattern& pattern) {
  check_extents(shape);
  check(pattern);
  base::ensure(!design.dual_side, "a design that skips the zeros of both operands has densities");
  StcResult result;
  // One pass over the multipliers of a sum takes spatial_k kept weights, in whole groups.
  const std::int64_t groups_per_pass = base::ceil_div(design.spatial_k, pattern.kept);
  result.padded = {base::round_up(shape.m, design.spatial_m),
                   base::round_up(shape.n, design.n_tile),
                   base::round_up(shape.k, groups_per_pass * pattern.group)};
  result.macs = result.padded.macs() / pattern.group * pattern.kept;

  const Traffic words = traffic(design, result, pattern);
  const std::int64_t activations = result.padded.k * result.padded.n;
  StcAccesses& accesses = result.accesses;
  accesses.weight_registers = result.macs + words.weight_reads;
  accesses.registers = 2 * (result.macs / design.spatial_k);
  accesses.shared_memory = words.weight_reads + words.activation_reads +
                           words.weights * words.weight_passes + activations;
  accesses.dram =
      words.weights * words.weight_passes + activations + result.padded.m * result.padded.n;
  if (words.bits_per_index > 0) {
    accesses.shared_memory_metadata_reads = words.weight_reads;
    accesses.dram_metadata = words.weights * words.weight_passes;
  }

  const double read_words =
      static_cast<double>(words.weight_reads + words.activation_reads) +
      static_cast<double>(accesses.shared_memory_metadata_reads) * words.bits_per_index / kWordBits;
  result.compute_cycles = base::ceil_div(result.macs, design.macs_per_cycle());
  result.shared_memory_cycles = cycles_for(read_words, design.shared_memory_words_per_cycle);
  result.dram_cycles = cycles_for(static_cast<double>(accesses.dram), design.dram_words_per_cycle);
  result.cycles =
      std::max({result.compute_cycles, result.shared_memory_cycles, result.dram_cycles});
  result.utilization =
      static_cast<double>(result.compute_cycles) / static_cast<double>(result.cycles);
  result.energy = energy_of(design, result, words);
  return result;
}

StcResult evaluate(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Pattern& pattern, std::optional<double> a_density,
                   std::optional<double> b_density) {
  if (!design.dual_side) {
    if (a_density || b_density) {
      throw base::InputError(
          "a density needs a design with 'dual_side', which skips the zeros of "
          "both operands; this one knows the pattern of A");
    }
    return evaluate(design, shape, pattern);
  }
  check(pattern);
  const double of_pattern = static_cast<double>(pattern.kept) / pattern.group;
  return evaluate_dual_side(design, shape, {a_density.value_or(of_pattern), b_density.value_or(1)});
}

}  // namespace sptc::energy
