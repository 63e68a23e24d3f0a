// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/permutation.h"

#include "models/base/random.h"
#include "models/sparsity/criterion.h"
#include "models/sparsity/prune.h"
#include "models/sparsity/weight_pattern.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace sptc::sparsity {
namespace {

base::Matrix<float> normal_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  const base::RandomStream random(seed);
  base::Matrix<float> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<float>(random.normal(i));
  }
  return matrix;
}

TEST(BestAssignment, IsTheBestOfAllPermutations) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t size = 1 + seed % 6;
    const base::Matrix<float> gains = normal_matrix(size, size, seed);
    const auto sum_of = [&](const std::vector<std::size_t>& columns) {
      float sum = 0;
      for (std::size_t row = 0; row < size; ++row) {
        sum += gains(row, columns[row]);
      }
      return sum;
    };
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    float best = sum_of(order);
    do {
      best = std::max(best, sum_of(order));
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<std::size_t> found = best_assignment(gains);
    EXPECT_NEAR(sum_of(found), best, 1e-4F) << seed;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, order) << "each column once";  // next_permutation ends in the first order
  }
}

TEST(MaxProduct, AddsTheLargerOfBoundAndElement) {
  const base::Matrix<float> columns = normal_matrix(700, 37, 1);  // no whole block of rows or columns
  const base::Matrix<float> bounds = normal_matrix(5, 700, 2);
  const base::Matrix<float> sums = max_product(bounds, columns);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 37; ++j) {
      double sum = 0;
      for (std::size_t r = 0; r < 700; ++r) {
        sum += static_cast<double>(std::max(bounds(i, r), columns(r, j)));
      }
      EXPECT_NEAR(static_cast<double>(sums(i, j)), sum, 1e-3);
    }
  }
}

TEST(PermutationSearch, GivesAPermutationThatKeepsWhatItSays) {
  const base::Matrix<float> weights = normal_matrix(32, 64, 3);
  const ColumnOrder found = permutation_search(weights);
  EXPECT_GT(found.kept_after, found.kept_before + 0.01);
  base::Matrix<float> permuted(32, 64);
  for (std::size_t i = 0; i < permuted.size(); ++i) {
    permuted.data()[i] = weights(i / 64, found.order[i % 64]);
  }
  const Mask mask = select(magnitudes(permuted), parse_weight_pattern("2:4"));
  EXPECT_NEAR(kept_share(permuted, mask).magnitude, found.kept_after, 1e-6);
  std::vector<std::size_t> sorted = found.order, all(64);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(sorted, all);
}

TEST(PermutationSearch, KeepsWhatItSaysOfOtherPatternsAndOfPairs) {
  const base::Matrix<float> weights = normal_matrix(24, 48, 3);
  for (const Pattern pattern :
       {Pattern{1, 2, 1}, Pattern{1, 4, 1}, Pattern{2, 8, 1}, Pattern{6, 8, 1}, Pattern{4, 8, 2}}) {
    PermutationSearch search;
    search.pattern = pattern;
    const ColumnOrder found = permutation_search(weights, search);
    base::Matrix<float> permuted(24, 48);
    for (std::size_t i = 0; i < permuted.size(); ++i) {
      permuted.data()[i] = weights(i / 48, found.order[i % 48]);
    }
    const WeightPattern wanted{pattern, 0};
    EXPECT_NEAR(kept_share(weights, select(magnitudes(weights), wanted)).magnitude, found.kept_before, 1e-6)
        << pattern.name();
    EXPECT_NEAR(kept_share(permuted, select(magnitudes(permuted), wanted)).magnitude, found.kept_after, 1e-6)
        << pattern.name();
    EXPECT_GT(found.kept_after, found.kept_before) << pattern.name();
    std::vector<std::size_t> sorted = found.order, all(48);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_EQ(sorted, all) << pattern.name();
  }
}

TEST(PermutationSearch, TakesTheBestOfItsStarts) {
  const base::Matrix<float> weights = normal_matrix(64, 128, 3);
  PermutationSearch search;
  search.starts = 1;
  double best = 0, worst = 1;
  for (search.seed = 0; search.seed < 4; ++search.seed) {  // the draws of four starts
    const double kept = permutation_search(weights, search).kept_after;
    best = std::max(best, kept);
    worst = std::min(worst, kept);
  }
  EXPECT_LT(worst, best);
  search.seed = 0;
  search.starts = 4;
  EXPECT_EQ(permutation_search(weights, search).kept_after, best);
  search.most_work_to_restart = 0;  // the first start alone
  search.starts = 1;
  const double first = permutation_search(weights, search).kept_after;
  search.starts = 4;
  EXPECT_EQ(permutation_search(weights, search).kept_after, first);
}

TEST(PermutationSearch, LeavesAloneWhatItCannotImprove) {
  const ColumnOrder found = permutation_search(base::Matrix<float>(4, 16, 1.0F));
  EXPECT_EQ(found.kept_after, found.kept_before);
  EXPECT_EQ(found.kept_after, 0.5);
  EXPECT_NE(refusal([] { permutation_search(base::Matrix<float>(4, 6)); }).find("multiple of 4"), std::string::npos);
}

}  // namespace
}  // namespace sptc::sparsity
