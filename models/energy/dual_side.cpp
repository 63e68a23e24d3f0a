// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/energy/stc_design.h"
#include "models/energy/stc_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace sptc::energy {
namespace {

constexpr double kWordsPerOperandRow = 2;  // 16 bits
constexpr double kBitsPerBitmapRegister = 4;

/// Elements of A or of B on their way from DRAM to the multipliers: `elements` with their zeros.
struct OperandWords {
  double elements = 0;     ///< of the matrix
  double read = 0;         ///< from shared memory, by all arrays
  double into_arrays = 0;  ///< the same, each array for itself
  double density = 0;
  double uses = 0;  ///< of an element in an array, for the passes over the other operand
  double dram_passes = 1;

  double kept(double of) const { return of * density; }
};

struct Tile {
  std::int64_t m = 0, n = 0;
};

/// One tile shape: passes and words of the whole GEMM, means over the zeros.
struct Mapping {
  base::GemmShape padded;
  double macs = 0, compute = 0;
  OperandWords a, b;
};

/// Columns are the outer loop and A stays in shared memory beside a panel of B, or the other way
/// round; where neither fits, the one that has fewer words comes again for each panel of the other.
void set_dram_passes(const StcDesign& design, double panels_m, double panels_n, Mapping& mapping) {
  const double a = mapping.a.kept(mapping.a.elements);
  const double b = mapping.b.kept(mapping.b.elements);
  const auto room = static_cast<double>(design.shared_memory_words);
  if (a + b / panels_n <= room || b + a / panels_m <= room) {
    return;
  }
  if (a * panels_n + b <= b * panels_m + a) {
    mapping.a.dram_passes = panels_n;
  } else {
    mapping.b.dram_passes = panels_m;
  }
}

Mapping mapping_of(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Densities& densities, const Tile& tile) {
  const DualSide& dual = *design.dual_side;
  Mapping mapping;
  const std::int64_t panel_m = tile.m * dual.arrays_m, panel_n = tile.n * dual.arrays_n;
  mapping.padded = {base::round_up(shape.m, panel_m), base::round_up(shape.n, panel_n), shape.k};
  const auto m = static_cast<double>(mapping.padded.m);
  const auto n = static_cast<double>(mapping.padded.n);
  const auto k = static_cast<double>(mapping.padded.k);
  const double all = m * n * k;
  mapping.macs = all * densities.products();
  const double of_a =
      sparsity::mean_groups(static_cast<int>(tile.m), static_cast<int>(dual.array_m), densities.a);
  const double of_b =
      sparsity::mean_groups(static_cast<int>(tile.n), static_cast<int>(dual.array_n), densities.b);
  const double outer_products = all / static_cast<double>(panel_m * panel_n);
  mapping.compute = outer_products * (of_a * of_b + dual.overhead_cycles);
  mapping.a = {m * k,
               all / static_cast<double>(panel_n),
               all / static_cast<double>(tile.n),
               densities.a,
               of_b,
               1};
  mapping.b = {k * n,
               all / static_cast<double>(panel_m),
               all / static_cast<double>(tile.m),
               densities.b,
               of_a,
               1};
  set_dram_passes(design, m / static_cast<double>(panel_m), n / static_cast<double>(panel_n),
                  mapping);
  return mapping;
}

std::int64_t whole(double words) {
  return std::llround(words);
}

/// Words read and written, as the energies and the bandwidths have them.
StcAccesses accesses_of(const Mapping& mapping) {
  StcAccesses accesses;
  double registers = 0, shared = 0, dram = 0, bits_read = 0, bits = 0;
  for (const OperandWords& operand : {mapping.a, mapping.b}) {
    registers += operand.kept(operand.into_arrays) * (1 + operand.uses);
    shared += operand.kept(operand.read) + operand.kept(operand.elements) * operand.dram_passes;
    dram += operand.kept(operand.elements) * operand.dram_passes;
    bits_read += operand.read;
    bits += operand.elements * operand.dram_passes;
  }
  const double results =
      static_cast<double>(mapping.padded.m) * static_cast<double>(mapping.padded.n);
  accesses.weight_registers = whole(registers);
  // A product is added to its sum in the register file; the first k finds none.
  accesses.registers = whole(mapping.macs * (2 - 1 / static_cast<double>(mapping.padded.k)));
  accesses.shared_memory = whole(shared);
  accesses.dram = whole(dram + results);
  accesses.shared_memory_metadata_reads = whole(bits_read);
  accesses.dram_metadata = whole(bits);
  return accesses;
}

StcEnergy energy_of(const StcDesign& design, const Mapping& mapping, const StcAccesses& accesses) {
  const DualSide& dual = *design.dual_side;
  StcEnergy energy;
  energy.multiply_pj = mapping.macs * design.multiply_accumulate_pj;
  energy.registers_pj =
      mapping.macs * design.register_write_pj +
      (static_cast<double>(accesses.registers) - mapping.macs) * design.register_read_pj;
  for (const OperandWords& operand : {mapping.a, mapping.b}) {
    energy.weight_registers_pj +=
        operand.into_arrays * (1 + operand.uses) *
        (operand.density / kWordsPerOperandRow * dual.operand_register_pj +
         dual.bitmap_register_pj / kBitsPerBitmapRegister);
    energy.shared_memory_pj +=
        operand.kept(operand.read) / kWordsPerSharedMemoryRow * design.shared_memory_read_pj +
        operand.kept(operand.elements) * operand.dram_passes / kWordsPerSharedMemoryRow *
            design.shared_memory_write_pj +
        operand.read / kMetadataRowBits * design.metadata_read_pj +
        operand.elements * operand.dram_passes / kMetadataRowBits * design.metadata_write_pj;
  }
  energy.dram_pj =
      static_cast<double>(accesses.dram) / kWordsPerDramRow * design.dram_pj +
      static_cast<double>(accesses.dram_metadata) / kMetadataRowBits * design.dram_metadata_pj;
  return energy;
}

StcResult result_of(const StcDesign& design, const Mapping& mapping) {
  StcResult result;
  result.padded = mapping.padded;
  result.macs = whole(mapping.macs);
  result.accesses = accesses_of(mapping);
  const double read = mapping.a.kept(mapping.a.read) + mapping.b.kept(mapping.b.read) +
                      (mapping.a.read + mapping.b.read) / kWordBits;
  result.compute_cycles = static_cast<std::int64_t>(std::ceil(mapping.compute));
  result.shared_memory_cycles = cycles_for(read, design.shared_memory_words_per_cycle);
  result.dram_cycles =
      cycles_for(static_cast<double>(result.accesses.dram), design.dram_words_per_cycle);
  result.cycles =
      std::max({result.compute_cycles, result.shared_memory_cycles, result.dram_cycles});
  result.utilization = mapping.macs / static_cast<double>(design.macs_per_cycle()) /
                       static_cast<double>(result.cycles);
  result.energy = energy_of(design, mapping, result.accesses);
  return result;
}

}  // namespace

StcResult evaluate_dual_side(const StcDesign& design, const base::GemmShape& shape,
                             const sparsity::Densities& densities) {
  check_extents(shape);
  base::ensure(design.dual_side.has_value(), "a design without 'dual_side' has no densities");
  for (const double density : {densities.a, densities.b}) {
    if (!(density > 0) || density > 1) {
      throw base::InputError("a density must be above 0 and at most 1, not " +
                             std::to_string(density));
    }
  }
  const DualSide& dual = *design.dual_side;
  std::optional<StcResult> best;
  for (std::int64_t m = dual.array_m; m <= dual.accumulators / dual.array_n; m *= 2) {
    const Tile tile{m, dual.accumulators / m / dual.array_n * dual.array_n};
    if (tile.m + tile.n > dual.operand_registers) {
      continue;
    }
    StcResult result = result_of(design, mapping_of(design, shape, densities, tile));
    if (!best || result.cycles < best->cycles) {
      best = result;
    }
  }
  base::ensure(best.has_value(), "no tile of D fits the registers of a design");
  return *best;
}

}  // namespace sptc::energy
