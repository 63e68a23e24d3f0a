// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"

#include <cstdint>

namespace sptc::kernels {

/// Operand values of one GEMM of the batch, as storage words.
struct GemmOperands {
  base::Matrix<numerics::Word> a;           ///< [m, k]; used when dense
  sparsity::CompressedMatrix compressed_a;  ///< used when sparse
  /// Places in its group of each kept element of a pattern that no GPU has, instead of nibbles: [m,
  /// compressed k].
  base::Matrix<std::uint8_t> indices;
  base::Matrix<numerics::Word> b_columns;  ///< [n, k]: column j of B is row j here (k contiguous)
};

}  // namespace sptc::kernels
