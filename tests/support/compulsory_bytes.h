// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_traffic.h"

#include <cstdint>

namespace sptc::support {

/// What DRAM has to deliver at the least: every operand once.
inline std::int64_t compulsory_bytes(const kernels::GemmKernel& kernel) {
  const kernels::GemmBytes bytes(kernel);
  const base::GemmShape& shape = kernel.problem.shape;
  std::int64_t of_a = bytes.row_bytes(isa::Operand::kA, shape.k);
  if (kernel.instruction.sparse) {
    of_a += bytes.row_bytes(isa::Operand::kMetadata, shape.k);
  }
  return kernel.problem.batch * (shape.m * of_a + shape.n * bytes.row_bytes(isa::Operand::kB, shape.k));
}

}  // namespace sptc::support
