// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"

#include <cstdint>

namespace sptc::sm {

/// The numbers of a streaming multiprocessor: sub-partitions, each with a warp scheduler, a register file and a tensor
/// core, around shared memory. Each is also a field of board files (sim/config/architecture_fields.cpp).
struct SmSpec {
  int sub_partitions = 0;
  int max_warps = 0;          ///< resident warps per SM
  int max_ctas = 0;           ///< resident CTAs per SM
  int registers = 0;          ///< 32-bit registers per SM
  base::Bytes shared_memory;  ///< usable by CTAs
  base::Bytes max_shared_memory_per_cta;
  int max_registers_per_thread = 0;
  base::Bytes reserved_shared_memory_per_cta;  ///< that the system keeps
  base::Bytes shared_memory_allocation_unit;   ///< CTAs get multiples of it

  int issue_per_cycle = 0;         ///< warp instructions per sub-partition and cycle
  int barrier_latency_cycles = 0;  ///< last arrival to release

  // Shared memory: a wavefront is one access to all banks. Only their bytes together count, as GEMM
  // kernels permute what they store and load so that it meets no bank twice.
  int shared_memory_banks = 0;
  int shared_memory_bank_bytes_per_cycle = 0;
  int shared_memory_latency_cycles = 0;    ///< issue to use, without the wavefronts
  int shared_memory_wavefront_cycles = 0;  ///< between wavefronts of one sub-partition

  // L1: it has what the shared memory of the CTAs leaves of the array that both live in, and the same banks, so also
  // their bytes per cycle.
  base::Bytes l1_and_shared_memory;  ///< 0: no L1
  int l1_latency_cycles = 0;         ///< load of one wavefront that hits, issue to use

  /// Most bytes that a thread copies to shared memory with one cp.async: 4, 8 or 16, all of which pass the L1 by, those
  /// of 4 and 8 unlike PTX's; 0: there is no cp.async, and tiles go through registers.
  int async_copy_bytes = 16;
  /// Cycles that a copy to shared memory takes beside the load of its bytes, until those who wait for it go on:
  /// cp.async with its wait_group, and a copy of TMA with its barrier.
  int async_copy_latency_cycles = 0;
  int bulk_copy_latency_cycles = 0;
  /// Rate at which TMA writes to the banks of shared memory, which serve nobody else meanwhile; 0: nobody waits for it.
  int bulk_fill_bytes_per_cycle = 0;
  /// Rate at which TMA fills the elements of a box that lie beyond the edge of the matrix, where a part of the box does
  /// not; 0: it fills them in no time.
  int bulk_edge_elements_per_cycle = 0;

  /// Least cycles between wgmma instructions of an SM, whatever their size; 0: no wgmma.
  int wgmma_interval_cycles = 0;
  /// Least cycles between tcgen05.mma instructions; 0: no tcgen05.mma. No SM has both.
  int tcgen05_interval_cycles = 0;
  /// Cycles that a tcgen05.mma alone takes beside its arithmetic and A's way from shared memory, from issue to the end
  /// of the wait for it, and how many more where two SMs run it; 0: not known. Only microbenchmarks use them: GEMMs see
  /// the stages of mma.sync.
  int tcgen05_latency_cycles = 0;
  int tcgen05_pair_latency_cycles = 0;
  /// Whether the SM has the instructions of `family`.
  bool has(mma::MmaFamily family) const {
    return family == mma::MmaFamily::kWgmma     ? wgmma_interval_cycles > 0
           : family == mma::MmaFamily::kTcgen05 ? tcgen05_interval_cycles > 0
                                                : true;
  }
  int async_mma_interval_cycles() const {
    return wgmma_interval_cycles > 0 ? wgmma_interval_cycles : tcgen05_interval_cycles;
  }

  base::Bytes shared_memory_bytes_per_cycle() const {
    return base::Bytes(std::int64_t{shared_memory_banks} * shared_memory_bank_bytes_per_cycle);
  }

  tensor_core::TensorCoreSpec tensor_core;

  /// Multiply-adds of the SM's tensor cores in a cycle, dense, of operands of `operand_bits`.
  double macs_per_cycle(int operand_bits, numerics::DataType accumulator, bool block_scaled = false) const {
    const int units = tensor_core.units(accumulator, block_scaled);
    return static_cast<double>(sub_partitions) * units * tensor_core.dot_width_bytes * 8 / operand_bits;
  }

  bool operator==(const SmSpec&) const = default;
};

}  // namespace sptc::sm
