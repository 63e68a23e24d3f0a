// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/sparsity/pattern.h"
#include "models/sparsity/zero_skipping.h"

#include <cstdint>
#include <optional>

namespace sptc::energy {

/// Multipliers that skip the zeros of both operands, as Sparseloop models DSTC (Wang et al., ISCA
/// 2021) in the same case study: `arrays_m` x `arrays_n` arrays hold a tile of D each and add one
/// outer product per k to it. Operands lie compressed in all levels, with a bit per element.
struct DualSide {
  std::int64_t array_m = 0, array_n = 0;    ///< multipliers of an array: elements of A and of B
  std::int64_t arrays_m = 0, arrays_n = 0;  ///< arrays along M and N
  std::int64_t accumulators = 0;            ///< sums that an array holds
  std::int64_t operand_registers = 0;       ///< elements of A and B for one k of its tile
  /// Cycles of an outer product beside its passes: bitmaps read, elements pushed together.
  double overhead_cycles = 0;
  double operand_register_pj = 0;  ///< per row of 16 bits
  double bitmap_register_pj = 0;   ///< per row of 4 bits

  std::int64_t multipliers() const { return array_m * array_n * arrays_m * arrays_n; }
};

/// The sparse tensor core of Sparseloop's case study (Wu et al., MICRO 2022, artifact, figure 15):
/// DRAM -> shared memory -> `spatial_m` rows of `spatial_k` multipliers. Weights (A) stay in the
/// multipliers' registers for `n_tile` columns; elements of B are broadcast to all rows; sums
/// stay in the register file until they go to DRAM. Words are 8-bit integers.
struct StcDesign {
  std::int64_t spatial_m = 0;  ///< rows of multipliers over all sub-partitions
  std::int64_t spatial_k = 0;  ///< multipliers that add into one sum
  std::int64_t n_tile = 0;     ///< columns of B that one weight meets before it is replaced
  std::int64_t shared_memory_words = 0;
  double shared_memory_words_per_cycle = 0;
  double dram_words_per_cycle = 0;

  // Picojoules at 45 nm. A row of shared memory is 512 bits, of DRAM and of metadata 64 bits.
  double multiply_accumulate_pj = 0;
  double weight_register_pj = 0;  ///< per word
  double register_read_pj = 0;    ///< per sum
  double register_write_pj = 0;
  double shared_memory_read_pj = 0;  ///< per row
  double shared_memory_write_pj = 0;
  double metadata_read_pj = 0;
  double metadata_write_pj = 0;
  double dram_pj = 0;
  double dram_metadata_pj = 0;
  double area_mm2 = 0;  ///< 0: not stated

  /// Instead of rows of multipliers that hold weights: see evaluate_dual_side().
  std::optional<DualSide> dual_side;

  std::int64_t macs_per_cycle() const {
    return dual_side ? dual_side->multipliers() : spatial_m * spatial_k;
  }
};

/// Words that pass each level, in reads and writes together.
struct StcAccesses {
  std::int64_t weight_registers = 0;  ///< those of both operands where zeros of both are skipped
  std::int64_t registers = 0;
  std::int64_t shared_memory = 0;
  std::int64_t dram = 0;
  std::int64_t shared_memory_metadata_reads = 0;  ///< indices
  std::int64_t dram_metadata = 0;                 ///< indices
};

struct StcEnergy {
  double multiply_pj = 0;
  double weight_registers_pj = 0;
  double registers_pj = 0;
  double shared_memory_pj = 0;
  double dram_pj = 0;

  double total_pj() const {
    return multiply_pj + weight_registers_pj + registers_pj + shared_memory_pj + dram_pj;
  }
};

struct StcResult {
  base::GemmShape padded;   ///< to whole tiles
  std::int64_t macs = 0;    ///< executed: those of kept weights, or of kept pairs of elements
  std::int64_t cycles = 0;  ///< the slowest of the three below
  std::int64_t compute_cycles = 0;
  std::int64_t shared_memory_cycles = 0;
  std::int64_t dram_cycles = 0;
  double utilization = 0;  ///< multiply-accumulates over those of all multipliers in `cycles`
  StcAccesses accesses;
  StcEnergy energy;
};

/// D[m,n] = A[m,k] B[k,n] on `design`, A at `pattern` (kept == group: dense weights, no metadata).
/// Throws InputError where an extent or the pattern is not positive or does not fit.
StcResult evaluate(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Pattern& pattern);

/// The same on a design with `dual_side`, of operands whose elements are independently zero or not:
/// means over them. A tile of D is as wide or as high as costs the fewest cycles.
StcResult evaluate_dual_side(const StcDesign& design, const base::GemmShape& shape,
                             const sparsity::Densities& densities);

/// What `energy design` asks for: a density of A instead of that of its pattern, and one of B, both
/// for designs that skip the zeros of both alone.
StcResult evaluate(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Pattern& pattern, std::optional<double> a_density,
                   std::optional<double> b_density);

}  // namespace sptc::energy
