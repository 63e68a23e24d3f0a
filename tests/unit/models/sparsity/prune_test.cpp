// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/prune.h"

#include "models/base/random.h"
#include "models/sparsity/criterion.h"
#include "models/sparsity/weight_pattern.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr DataType kF16 = DataType::kF16;

TEST(PruneByMagnitude, KeepsTheLowerIndexOfEquals) {
  EXPECT_EQ(prune_by_magnitude(words({{1, -1, 1, -1}, {1, 2, -2, 2}, {2, 1, 1, 1}}, kF16), kF16),
            words({{1, -1, 0, 0}, {0, 2, -2, 0}, {2, 1, 0, 0}}, kF16));
}

TEST(PruneByMagnitude, TakesTheMostNegativeIntegerForLargerThanTheMostPositive) {
  const DataType s8 = DataType::kS8;
  EXPECT_EQ(prune_by_magnitude(words({{127, 127, -128, 127}}, s8), s8), words({{127, 0, -128, 0}}, s8));
}

TEST(PruneByMagnitude, CountsNanAsLargerThanInfinity) {
  base::Matrix<Word> dense = words({{0, 1e9, -1e9, 0}}, kF16);  // +inf, -inf
  dense(0, 0) = 0x7E01;
  dense(0, 3) = 0xFE02;
  const base::Matrix<Word> pruned = prune_by_magnitude(dense, kF16);
  EXPECT_EQ(pruned(0, 0), 0x7E01U);
  EXPECT_EQ(pruned(0, 1), 0U);
  EXPECT_EQ(pruned(0, 2), 0U);
  EXPECT_EQ(pruned(0, 3), 0xFE02U);
  dense(0, 1) = 0x7FFF;  // of three NaNs the first two, whatever their payload
  EXPECT_EQ(prune_by_magnitude(dense, kF16)(0, 1), 0x7FFFU);
  EXPECT_EQ(prune_by_magnitude(dense, kF16)(0, 3), 0U);
}

TEST(PruneByMagnitude, WritesPositiveZeros) {
  const base::Matrix<Word> pruned = prune_by_magnitude(words({{-0.0, -0.0, 5, -0.0}}, kF16), kF16);
  EXPECT_EQ(pruned, words({{0.0, 0.0, 5, 0.0}}, kF16));
}

TEST(PruneByMagnitude, ScoresRunsByTheSumOfMagnitudes) {
  const Pattern pairs{4, 8, 2};
  // Sums 5, 4, 6, 4: the first and the third pair, though the largest element is in the second.
  EXPECT_EQ(prune_by_magnitude(words({{2, -3, 4, 0, -3, 3, 2, 2}}, kF16), kF16, pairs),
            words({{2, -3, 0, 0, -3, 3, 0, 0}}, kF16));
}

TEST(PruneByMagnitude, RefusesADepthThatIsNoMultipleOfTheGroup) {
  EXPECT_EQ(refusal([] { prune_by_magnitude(base::Matrix<Word>(1, 6), kF16); }),
            "cannot prune k = 6 to 2:4: k must be a multiple of 4");
  EXPECT_NO_THROW(prune_by_magnitude(base::Matrix<Word>(1, 6), DataType::kTf32));
}

TEST(PruneByMagnitude, RefusesPatternsThatAreNone) {
  for (const Pattern pattern :
       {Pattern{0, 4, 1}, Pattern{5, 4, 1}, Pattern{2, 4, 0}, Pattern{3, 8, 2}, Pattern{2, 5, 2}, Pattern{-2, -4, 1}}) {
    EXPECT_THROW(prune_by_magnitude(base::Matrix<Word>(1, 40), kF16, pattern), base::InputError) << pattern.name();
  }
}

base::Matrix<float> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  const base::RandomStream random(seed);
  base::Matrix<float> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    // Few values, so that equals are common.
    matrix.data()[i] = static_cast<float>(static_cast<int>(random.below(i, 9)) - 4);
  }
  return matrix;
}

TEST(Select, BlocksOfVnmShareTheirColumns) {
  const WeightPattern pattern = parse_weight_pattern("4:2:8");
  const Mask mask = select(magnitudes(random_matrix(6, 16, 2)), pattern);
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>(0, 4), {4, 6}}) {
    for (std::size_t group = 0; group < 16; group += 8) {
      std::set<std::size_t> columns;
      for (std::size_t row = first; row < last; ++row) {
        int kept = 0;
        for (std::size_t i = group; i < group + 8; ++i) {
          kept += mask(row, i);
          if (mask(row, i) != 0) {
            columns.insert(i);
          }
        }
        EXPECT_EQ(kept, 2);
      }
      EXPECT_LE(columns.size(), 4U);
    }
  }
}

TEST(Select, BlocksOfVnmKeepTheColumnsWithTheLargestSums) {
  base::Matrix<float> scores(2, 8);
  const float values[] = {9, 0, 8, 0, 7, 0, 6, 0,   //
                          1, 0, 2, 0, 3, 0, 4, 5};  // sums: 10, 0, 10, 0, 10, 0, 10, 5
  std::copy(std::begin(values), std::end(values), scores.data());
  const Mask mask = select(scores, parse_weight_pattern("2:2:8"));
  const std::uint8_t kept[] = {1, 0, 1, 0, 0, 0, 0, 0,  //
                               0, 0, 0, 0, 1, 0, 1, 0};
  EXPECT_TRUE(std::equal(std::begin(kept), std::end(kept), mask.data()));
}

TEST(Select, RefusesAKThatIsNoMultiple) {
  EXPECT_NE(refusal([] { select(base::Matrix<float>(1, 6), parse_weight_pattern("2:4")); }).find("multiple of 4"),
            std::string::npos);
}

TEST(KeptShare, IsOfTheSumOfSquares) {
  const base::Matrix<float> weights = random_matrix(3, 4096, 3);
  const Mask mask = select(magnitudes(weights), parse_weight_pattern("2:4"));
  double energy = 0, kept = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double square = std::pow(static_cast<double>(weights.data()[i]), 2);
    energy += square;
    kept += mask.data()[i] != 0 ? square : 0;
  }
  EXPECT_DOUBLE_EQ(kept_share(weights, mask).energy, kept / energy);
}

}  // namespace
}  // namespace sptc::sparsity
