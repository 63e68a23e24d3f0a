// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sptc::sparsity {

/// The columns of a matrix as operand of a matrix product of (max, +).
class MaxProduct {
 public:
  explicit MaxProduct(const base::Matrix<float>& columns);

  std::size_t columns() const { return columns_; }

  /// sums[i][j] = sum over rows r of max(bounds[i][r], columns(r, j)), for each of `bounds`; the
  /// order of the sums is fixed. Rows of `sums` have columns() places.
  void run(std::span<const float* const> bounds, std::span<float* const> sums) const;

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<float> panels_;  ///< [panel][row][kPanel]
};

}  // namespace sptc::sparsity
