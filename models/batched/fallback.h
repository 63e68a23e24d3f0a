// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/batched/float_gemm.h"

#include <cstddef>

namespace sptc::batched {

/// Elements [begin, end) of the dot product of row `row` and column `column`, in the plain
/// arithmetic of dot_step: what the vector kernels leave out. `c` and the result are words of the
/// output format.
numerics::Word slow_dot(const GemmSlice& gemm, std::size_t row, std::size_t column, std::size_t begin, std::size_t end,
                        numerics::Word c);

/// Rows [row_begin, row_end) of D likewise.
void run_plain(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end);

/// Whether metadata of rows [row_begin, row_end) of a sparse A is invalid: then they have no dense
/// form, and tf32 of B is no longer selected in whole words.
bool has_invalid_nibble(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end);

}  // namespace sptc::batched
