// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/batched/float_gemm.h"

#include <cstddef>

namespace sptc::batched {

/// Whether the vector kernels know this integer arithmetic: 8-bit operands, wrapping s32.
bool has_integer_kernel(const mma::MmaInstruction& instruction, const mma::StepRules& rules);

/// Rows [row_begin, row_end) of an integer GEMM, on the best vector instructions of this machine.
/// Sums are exact modulo 2^32, so their order is free.
void run_integer_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end);

}  // namespace sptc::batched
