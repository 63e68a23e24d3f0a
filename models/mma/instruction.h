// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::mma {

/// Rows, columns and logical depth of one matrix instruction.
struct MmaShape {
  int m = 0;
  int n = 0;
  int k = 0;

  bool operator==(const MmaShape&) const = default;
};

/// The PTX instructions that run on tensor cores.
enum class MmaFamily {
  kMma,      ///< mma.sync, mma.sp.sync
  kWgmma,    ///< wgmma.mma_async (sm_90a)
  kTcgen05,  ///< tcgen05.mma (sm_100a): shape and types stand in its instruction descriptor
};

/// What b1 elements are combined with before their bits are counted.
enum class BitOperation { kXor, kAnd };

/// One matrix instruction D[m,n] = A[m,k] B[k,n] + C[m,n]. With `sparse`, A holds k/2 elements per
/// row and a metadata operand selects the rows of B that they meet.
struct MmaInstruction {
  MmaShape shape;
  numerics::DataType a_type;
  numerics::DataType b_type;
  numerics::DataType accumulator;  ///< type of D, and of C unless `addend` says otherwise
  bool sparse = false;
  MmaFamily family = MmaFamily::kMma;
  std::optional<numerics::DataType> addend = std::nullopt;  ///< C of m8n8k4: f16 beside an f32 D
  bool satfinite = false;     ///< integers: one clamp of the exact sum instead of wrapping
  bool block_scaled = false;  ///< a ue8m0 scale per 32 products (mxf8f6f4)
  std::optional<BitOperation> bit_operation = std::nullopt;  ///< b1 only

  bool operator==(const MmaInstruction&) const = default;

  numerics::DataType c_type() const { return addend.value_or(accumulator); }
  /// Elements of A per row: k, or k/2 where sparse.
  int compressed_k() const { return sparse ? shape.k / 2 : shape.k; }
  int macs() const { return shape.m * shape.n * compressed_k(); }  ///< executed
  /// "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
  std::string ptx_name() const;
};

/// The instructions that GEMM kernels for `operand` are built from on Ampere: m16n8 with 32 bytes
/// of A per row. Throws InputError where the type has none.
MmaInstruction gemm_instruction(numerics::DataType operand, bool sparse);

/// The same on the GPUs of `architecture` ("volta", a row set of models/mma/step_rules): Volta has
/// m8n8k4, Turing m16n8k8 and for bytes m8n8k16, all later ones what Ampere has (CUTLASS,
/// include/cutlass/arch/mma_sm70.h and mma_sm75.h). A type that the architecture does not take gets
/// Ampere's instruction, which the catalogue then refuses with the near ones.
MmaInstruction gemm_instruction(std::string_view architecture, numerics::DataType operand,
                                bool sparse);

/// All m16n8 instructions of sm_80 for the operand types that the data path (models/mma/stages)
/// takes, dense and sparse.
std::vector<MmaInstruction> ampere_instructions();

}  // namespace sptc::mma
