// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "models/sparsity/pattern.h"

namespace sptc::sparsity {

/// Magnitude pruning of a matrix [m, k] along K: each group keeps the `pattern.kept` elements of
/// largest magnitude, in runs of `pattern.run` scored by the sum of their magnitudes; of equals the
/// lower index stays (Mishra et al., "Accelerating Sparse Deep Neural Networks", arXiv 2104.08378,
/// section 3). NaN counts as larger than infinity, so pruning never hides one behind a number.
/// Every zero of the result is a positive zero, kept or not: -0 is not information that 2:4
/// hardware preserves (see compress), and so the result survives a round trip bit for bit.
///
/// Throws InputError where k is no multiple of the group, or the pattern is none.
base::Matrix<numerics::Word> prune_by_magnitude(const base::Matrix<numerics::Word>& dense,
                                                numerics::DataType type, const Pattern& pattern);

/// The same at hardware_pattern(type).
base::Matrix<numerics::Word> prune_by_magnitude(const base::Matrix<numerics::Word>& dense,
                                                numerics::DataType type);

}  // namespace sptc::sparsity
