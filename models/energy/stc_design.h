// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/sparsity/pattern.h"

#include <cstdint>

namespace sptc::energy {

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

  std::int64_t macs_per_cycle() const { return spatial_m * spatial_k; }
};

/// Words that pass each level, in reads and writes together.
struct StcAccesses {
  std::int64_t weight_registers = 0;
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
  std::int64_t macs = 0;    ///< executed: those of kept weights
  std::int64_t cycles = 0;  ///< the slowest of the three below
  std::int64_t compute_cycles = 0;
  std::int64_t shared_memory_cycles = 0;
  std::int64_t dram_cycles = 0;
  double utilization = 0;  ///< compute_cycles / cycles
  StcAccesses accesses;
  StcEnergy energy;
};

/// D[m,n] = A[m,k] B[k,n] on `design`, A at `pattern` (kept == group: dense weights, no metadata).
/// Throws InputError where an extent or the pattern is not positive or does not fit.
StcResult evaluate(const StcDesign& design, const base::GemmShape& shape,
                   const sparsity::Pattern& pattern);

}  // namespace sptc::energy
