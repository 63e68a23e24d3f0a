// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/sparsity/weight_pattern.h"

#include <cstdint>

namespace sptc::sparsity {

/// Which elements of a matrix [rows, k] stay: 1, else 0.
using Mask = base::Matrix<std::uint8_t>;

/// What `pattern` keeps of a matrix whose elements are worth `scores` [rows, k], none of them NaN.
/// N:M: of every group of M along K the N of largest score, in runs of `pattern.pattern.run` scored
/// by their sum; of equals the lower index. V:N:M: row 0 begins a block of V rows; a block keeps
/// the four columns of every M whose scores have the largest sum, and each row N of those four.
/// Throws InputError where k is no multiple of M.
Mask select(const base::Matrix<float>& scores, const WeightPattern& pattern);

}  // namespace sptc::sparsity
