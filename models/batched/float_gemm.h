// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "models/numerics/operand_view.h"
#include "models/sparsity/compress.h"

#include <cstddef>

namespace sptc::batched {

/// One GEMM of floating-point operands with every choice made. The result replaces `state`; while
/// the GEMM runs, an accumulator is a float, also where the output is f16 (widened exactly).
struct GemmSlice {
  const mma::MmaInstruction* instruction = nullptr;
  const mma::StepRules* rules = nullptr;
  numerics::OperandView a;                              ///< [m, depth], depth in elements as stored
  const base::Matrix<std::uint8_t>* nibbles = nullptr;  ///< [m, groups] where A is 2:4 sparse
  numerics::OperandView b_columns;                      ///< [n, k]
  base::MatrixView<numerics::Word> state;               ///< [m, n] in: C, out: D, as f32 words
  std::size_t depth_begin = 0;                          ///< elements of A as stored
  std::size_t depth_end = 0;
};

/// Whether the vector kernels know this arithmetic. Everything else is for slow_dot.
bool has_float_kernel(const mma::MmaInstruction& instruction, const mma::StepRules& rules);

/// Rows [row_begin, row_end) of the GEMM, on the best vector instructions of this machine.
void run_float_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end);

}  // namespace sptc::batched
