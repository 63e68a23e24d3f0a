// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"

#include <cstdint>

namespace sptc::sparsity {

struct WeightPattern;

/// Which elements of a matrix [rows, k] stay: 1, else 0.
using Mask = base::Matrix<std::uint8_t>;

/// What `pattern` keeps of a matrix whose elements are worth `scores` [rows, k], none of them NaN.
/// N:M: of every group of M along K the N of largest score, in runs of `pattern.pattern.run` scored
/// by their sum; of equals the lower index. V:N:M: row 0 begins a block of V rows; a block keeps
/// the four columns of every M whose scores have the largest sum, and each row N of those four.
/// Throws InputError where k is no multiple of M.
Mask select(const base::Matrix<float>& scores, const WeightPattern& pattern);

/// Magnitude pruning of a matrix [m, k] along K: each group keeps the `pattern.kept` elements of
/// largest magnitude, in runs of `pattern.run` scored by the sum of their magnitudes; of equals the
/// lower index stays (Mishra et al., "Accelerating Sparse Deep Neural Networks", arXiv 2104.08378,
/// section 3). NaN counts as larger than infinity. Every zero of the result is a positive zero,
/// kept or not.
///
/// Throws InputError where k is no multiple of the group, or the pattern is none.
base::Matrix<numerics::Word> prune_by_magnitude(const base::Matrix<numerics::Word>& dense, numerics::DataType type,
                                                const Pattern& pattern);

/// The same at hardware_pattern(type).
inline base::Matrix<numerics::Word> prune_by_magnitude(const base::Matrix<numerics::Word>& dense,
                                                       numerics::DataType type) {
  return prune_by_magnitude(dense, type, hardware_pattern(type));
}

}  // namespace sptc::sparsity
