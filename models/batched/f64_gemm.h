// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"

#include <cstdint>

namespace sptc::batched {

/// D[m,n] = A[m,k] B[k,n] + C[m,n] in binary64 bits, every element a chain of fused multiply-adds
/// in increasing k: bit-identical to mma::f64_dot, NaN included. `b_columns` is [n, k];
/// `c` may be null (+0). Throws InputError where extents do not fit together or threads < 1.
base::Matrix<std::uint64_t> gemm_f64(const base::Matrix<std::uint64_t>& a,
                                     const base::Matrix<std::uint64_t>& b_columns,
                                     const base::Matrix<std::uint64_t>* c, int threads = 1);

}  // namespace sptc::batched
