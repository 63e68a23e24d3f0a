// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/numerics/data_type.h"

namespace sptc::mma {

/// Rows, columns and logical depth of one warp-wide matrix instruction.
struct MmaShape {
  int m = 0;
  int n = 0;
  int k = 0;

  bool operator==(const MmaShape&) const = default;
};

/// One warp-wide matrix instruction D[m,n] = A[m,k] B[k,n] + C[m,n] (PTX mma.sync, mma.sp.sync). With `sparse`, A holds
/// k/2 elements per row and a metadata operand selects the rows of B that they meet.
struct MmaInstruction {
  MmaShape shape;
  numerics::DataType a_type;
  numerics::DataType b_type;
  numerics::DataType accumulator;
  bool sparse = false;

  bool operator==(const MmaInstruction&) const = default;

  /// Elements of A per row: k, or k/2 where sparse.
  int compressed_k() const { return sparse ? shape.k / 2 : shape.k; }
  int macs() const { return shape.m * shape.n * compressed_k(); }  ///< executed
  /// "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
  std::string ptx_name() const;
};

/// The instructions that GEMM kernels for `operand` are built from on Ampere: m16n8 with 32 bytes of A per row. Throws
/// InputError where the type has none.
MmaInstruction gemm_instruction(numerics::DataType operand, bool sparse);

/// All m16n8 instructions of sm_80 for the operand types of the table, dense and sparse.
std::vector<MmaInstruction> ampere_instructions();

}  // namespace sptc::mma
