// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/sparsity/pattern.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::sparsity {

/// The column of each row of a square matrix in the assignment of largest sum: shortest augmenting
/// paths (Jonker and Volgenant, "A Shortest Augmenting Path Algorithm for Dense and Sparse Linear
/// Assignment Problems", Computing 38, 1987). Exact up to the rounding of float.
std::vector<std::size_t> best_assignment(const base::Matrix<float>& gains);

/// The product of (max, +): for each row i of `bounds` and column j of `columns` the sum over r of
/// max(bounds(i, r), columns(r, j)), in a fixed order.
base::Matrix<float> max_product(const base::Matrix<float>& bounds, const base::Matrix<float>& columns);

/// How permutation_search() goes about it.
struct PermutationSearch {
  Pattern pattern;  ///< that the order is for; runs of more than one column stay together
  std::uint64_t seed = 0;
  /// Elements of the products of (max, +), assignments counted as such, after which no round
  /// begins; a core does some 8e9 in a second.
  double most_work = 8e10;
  int most_rounds = 400;
  /// Searches with other draws, of which the best counts; none begins after this much work.
  int starts = 6;
  double most_work_to_restart = 1e10;
  /// It ends once this many rounds together add less than `least_gain` of the magnitude kept.
  int patience = 16;
  double least_gain = 2e-5;
};

/// An order of the columns of a matrix, and the share of the sum of magnitudes that pruning to the
/// pattern keeps before and after.
struct ColumnOrder {
  std::vector<std::size_t> order;  ///< column order[i] goes to place i
  double kept_before = 1, kept_after = 1;
};

/// Looks for the order of the columns of `weights` in which N:M keeps the most magnitude (the
/// problem of Pool and Yu, "Channel Permutations for N:M Sparsity", NeurIPS 2021). A column x in a
/// stripe of M adds max(b, x) to a row, b the N-th largest of the other columns there, beside the
/// N - 1 larger ones. A round draws a place in each stripe; what each of the columns there would
/// make of each stripe is one matrix product of (max, +). It exchanges the columns there in the
/// best of all ways at once, a linear assignment problem, whose gain is exact because each stripe
/// changes one column. The number of columns must be a multiple of M. Throws InputError where it is
/// not.
ColumnOrder permutation_search(const base::Matrix<float>& weights, const PermutationSearch& search = {});

}  // namespace sptc::sparsity
