// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "models/numerics/operand_view.h"
#include "models/sparsity/compress.h"

#include <cstdint>

namespace sptc::batched {

/// Operands of D[m,n] = A[m,k] B[k,n] + C[m,n], storage words. The matrices must outlive the call.
struct GemmOperands {
  numerics::OperandView a;                                   ///< [m, k]; dense instructions
  const sparsity::CompressedMatrix* compressed_a = nullptr;  ///< sparse instructions
  numerics::OperandView b_columns;                           ///< [n, k]: column j of B is row j
  numerics::OperandView c;                                   ///< [m, n]; nothing: +0
};

struct EngineOptions {
  int threads = 1;  ///< of the host; rows of D are shared out among them
  /// Slices of K with an accumulator each, as split-K kernels have them. Slice 0 starts from C, the
  /// others from +0; slices are whole instructions deep, the first ones as deep as any. The
  /// accumulators are added in increasing order of the slices, each sum rounded to nearest even in
  /// the output format (integers wrap).
  int split_k = 1;
};

/// The whole GEMM with the steps in the order of a kernel: increasing k, the accumulator rounded at
/// every step, a last step that is not full padded with zeros. Bit-identical to mma::dense_dot and
/// mma::sparse_dot of every element, and to nothing less; only quicker. Uses the vector
/// instructions that the machine has (Highway). Memory beyond the operands and D: about 2 MB a
/// thread, with split-K one [m, n] matrix more.
///
/// Throws InputError where extents, types or options do not fit together.
base::Matrix<numerics::Word> gemm(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
                                  const GemmOperands& operands, const EngineOptions& options = {});

/// The same into `d` [m, n], whatever it holds before.
void gemm(const mma::MmaInstruction& instruction, const mma::StepRules& rules, const GemmOperands& operands,
          const EngineOptions& options, base::MatrixView<numerics::Word> d);

/// D[m,n] = A[m,k] B[k,n] + C[m,n] in binary64 bits, every element a chain of fused multiply-adds
/// in increasing k: bit-identical to mma::f64_dot, NaN included. `b_columns` is [n, k];
/// `c` may be null (+0). Throws InputError where extents do not fit together or threads < 1.
base::Matrix<std::uint64_t> gemm_f64(const base::Matrix<std::uint64_t>& a, const base::Matrix<std::uint64_t>& b_columns,
                                     const base::Matrix<std::uint64_t>* c, int threads = 1);

}  // namespace sptc::batched
