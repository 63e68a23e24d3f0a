// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/memory_spec.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/traffic_counts.h"

#include <cstdint>

namespace sptc::kernels {

/// Shares of the operands, and of D as the launch before has written it, that the L2 holds when a
/// launch begins.
struct ResidentOperands {
  double a = 0;  ///< with its metadata
  double b = 0;
  double d = 0;
};

/// What launches before `kernel`, which were like it, have left (LaunchConditions::l2): what
/// survives of an operand the bytes that have passed since it was used.
ResidentOperands resident_operands(const GemmKernel& kernel, const memory::MemorySpec& memory);

/// What DRAM has to do with a grid.
struct DramBytes {
  double delivered = 0;
  double written_back = 1;  ///< share of what the grid writes that DRAM takes
};

/// How much of the operands of a grid DRAM has to deliver, in closed form. The CTAs that the GPU
/// holds at once (a wave) ask for each tile of A and B about the same time, so DRAM delivers it
/// once; whether it is still in the L2 from an earlier wave follows from what was fetched since.
class GridReuse {
 public:
  GridReuse(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms);

  /// The share of its capacity with which the L2 keeps as much from wave to wave of a grid with
  /// `part` of the k-tiles as it keeps of the whole one. What the SMs of a wave share stays there
  /// until all have it.
  double l2_share_of(double part) const;

  const DramBytes& dram() const { return dram_; }

 private:
  /// Bytes that a mean wave uses of each partition of the L2, in units of its capacity.
  double operands_ = 0, written_ = 0;
  DramBytes dram_;
};

inline DramBytes dram_bytes(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms) {
  return GridReuse(kernel, memory, sms).dram();
}

MemoryTraffic closed_form_traffic(const GemmKernel& kernel, const DramBytes& dram, std::int64_t sms);

}  // namespace sptc::kernels
