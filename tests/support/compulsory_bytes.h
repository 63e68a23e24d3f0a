// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_traffic.h"

#include <cstdint>

namespace sptc::sim {

/// What DRAM has to deliver at the least: every operand once.
inline std::int64_t compulsory_bytes(const GemmKernel& kernel) {
  const GemmBytes bytes(kernel);
  const GemmShape& shape = kernel.problem.shape;
  std::int64_t of_a = bytes.row_bytes(Operand::kA, shape.k);
  if (kernel.instruction.sparse) {
    of_a += bytes.row_bytes(Operand::kMetadata, shape.k);
  }
  return kernel.problem.batch * (shape.m * of_a + shape.n * bytes.row_bytes(Operand::kB, shape.k));
}

}  // namespace sptc::sim
