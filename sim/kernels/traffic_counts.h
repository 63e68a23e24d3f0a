// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/memory_bytes.h"

#include <cstdint>

namespace sptc::memory {
struct MemorySpec;
}  // namespace sptc::memory

namespace sptc::kernels {

struct GemmKernel;

/// What the second kernel of split-K moves, which sums the partial sums of the slices to D. The
/// first one leaves them in the L2, which writes them to DRAM sooner or later: nobody waits for
/// that, but it is traffic of the first kernel.
struct ReductionBytes {
  std::int64_t partial_sums = 0;  ///< that it reads: all that the first kernel stored
  /// The part of them that the L2 cannot keep: DRAM takes it during the first kernel and delivers
  /// it again.
  std::int64_t spilled = 0;
  std::int64_t stored = 0;  ///< D

  memory::MemoryBytes moved() const { return {partial_sums, stored, spilled, stored}; }
};

/// Zeros where `kernel` does not cut K.
ReductionBytes reduction_bytes(const GemmKernel& kernel, const memory::MemorySpec& memory);

/// Bytes of one launch at each level.
struct MemoryTraffic {
  memory::MemoryBytes l2_and_dram;
  std::int64_t shared_memory_read = 0;     ///< loads of fragments
  std::int64_t shared_memory_written = 0;  ///< copies of tiles
  /// Operands that warpgroups multiply straight from shared memory: no warp loads them.
  std::int64_t shared_memory_multiplied = 0;

  std::int64_t shared_memory() const { return shared_memory_read + shared_memory_written + shared_memory_multiplied; }
};

/// Bytes that all warps of all CTAs load from shared memory, in closed form: every k-step loads the
/// fragments of the warp tile once; warpgroups load none.
std::int64_t fragment_bytes(const GemmKernel& kernel);

/// The part of them without metadata.
std::int64_t operand_fragment_bytes(const GemmKernel& kernel);

std::int64_t multiplied_bytes(const GemmKernel& kernel);

/// Bytes that all CTAs copy, and those of them that the L2 reads, what it reads for several CTAs of
/// a cluster counted once; and bytes that they write to it: the operand tiles and D without
/// padding.
std::int64_t copied_bytes(const GemmKernel& kernel);
std::int64_t l2_read_bytes(const GemmKernel& kernel);
std::int64_t stored_bytes(const GemmKernel& kernel);

}  // namespace sptc::kernels
