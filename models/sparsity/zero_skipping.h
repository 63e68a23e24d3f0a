// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace sptc::sparsity {

/// Share of the elements of each operand that are not zero.
struct Densities {
  double a = 1;
  double b = 1;

  auto operator<=>(const Densities&) const = default;
  double products() const { return a * b; }  ///< share of the products that are not zero
};

/// Multipliers that skip the zeros of both operands (dual-side: Wang et al., Dual-side Sparse
/// Tensor Core, ISCA 2021, arXiv 2105.09564). For each k a bitmap of a column of A and one of a row
/// of B say where their zeros are; what is left is pushed together, and an array of `rows` x
/// `columns` multipliers takes the outer product in passes. Products go to the sums of their own
/// row and column, so that the bits of a result do not depend on what was skipped.
struct OuterProductArray {
  int rows = 0;  ///< 0: zeros are multiplied
  int columns = 0;

  bool operator==(const OuterProductArray&) const = default;
  bool skips() const { return rows > 0; }

  /// Passes over `kept_m` elements of a column of A and `kept_n` of a row of B.
  std::int64_t passes(std::int64_t kept_m, std::int64_t kept_n) const;
  /// Their mean over columns of `m` and rows of `n` elements, each independently zero or not.
  double mean_passes(int m, int n, const Densities& densities) const;
  /// Passes over elements of `densities` for each over elements none of which is zero.
  double share(int m, int n, const Densities& densities) const {
    return mean_passes(m, n, densities) / static_cast<double>(passes(m, n));
  }
};

/// Mean of ceil(X / width) where X of `extent` elements are not zero, each with chance `density`.
double mean_groups(int extent, int width, double density);

}  // namespace sptc::sparsity
