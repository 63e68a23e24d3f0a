// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/memory/memory_spec.h"

namespace sptc::kernels {

/// Shares of the operands, and of D as the launch before has written it, that the L2 holds when a
/// launch begins.
struct ResidentOperands {
  double a = 0;  ///< with its metadata
  double b = 0;
  double d = 0;
};

/// What launches before `kernel`, which were like it, have left (LaunchConditions::l2): of an
/// operand what survives the bytes that have passed since it was used.
ResidentOperands resident_operands(const GemmKernel& kernel, const memory::MemorySpec& memory);

}  // namespace sptc::kernels
