// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"

#include <cstddef>
#include <vector>

namespace sptc::sparsity {

/// The column of each row of a square matrix in the assignment of largest sum: shortest augmenting
/// paths (Jonker and Volgenant, "A Shortest Augmenting Path Algorithm for Dense and Sparse Linear
/// Assignment Problems", Computing 38, 1987). Exact up to the rounding of float.
std::vector<std::size_t> best_assignment(const base::Matrix<float>& gains);

}  // namespace sptc::sparsity
