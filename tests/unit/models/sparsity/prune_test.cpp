// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/prune.h"

#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <limits>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr DataType kF16 = DataType::kF16;

TEST(PruneByMagnitude, KeepsTheTwoLargestOfFour) {
  EXPECT_EQ(prune_by_magnitude(words({{1, -4, 3, 2, -1, 0, 0, 5}}, kF16), kF16),
            words({{0, -4, 3, 0, -1, 0, 0, 5}}, kF16));
}

TEST(PruneByMagnitude, KeepsTheLowerIndexOfEquals) {
  EXPECT_EQ(prune_by_magnitude(words({{1, -1, 1, -1}, {1, 2, -2, 2}, {2, 1, 1, 1}}, kF16), kF16),
            words({{1, -1, 0, 0}, {0, 2, -2, 0}, {2, 1, 0, 0}}, kF16));
}

TEST(PruneByMagnitude, TakesTheMostNegativeIntegerForLargerThanTheMostPositive) {
  const DataType s8 = DataType::kS8;
  EXPECT_EQ(prune_by_magnitude(words({{127, 127, -128, 127}}, s8), s8),
            words({{127, 0, -128, 0}}, s8));
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

TEST(PruneByMagnitude, TakesOtherPatterns) {
  EXPECT_EQ(prune_by_magnitude(words({{1, 4, 3, 2}}, kF16), kF16, {1, 4, 1}),
            words({{0, 4, 0, 0}}, kF16));
  EXPECT_EQ(prune_by_magnitude(words({{1, 4, 3, 2}}, kF16), kF16, {3, 4, 1}),
            words({{0, 4, 3, 2}}, kF16));
  EXPECT_EQ(prune_by_magnitude(words({{1, 4, 3, 2}}, kF16), kF16, {4, 4, 1}),
            words({{1, 4, 3, 2}}, kF16));
}

TEST(PruneByMagnitude, RefusesADepthThatIsNoMultipleOfTheGroup) {
  EXPECT_EQ(refusal([] { prune_by_magnitude(base::Matrix<Word>(1, 6), kF16); }),
            "cannot prune k = 6 to 2:4: k must be a multiple of 4");
  EXPECT_NO_THROW(prune_by_magnitude(base::Matrix<Word>(1, 6), DataType::kTf32));
}

TEST(PruneByMagnitude, RefusesPatternsThatAreNone) {
  for (const Pattern pattern : {Pattern{0, 4, 1}, Pattern{5, 4, 1}, Pattern{2, 4, 0},
                                Pattern{3, 8, 2}, Pattern{2, 5, 2}, Pattern{-2, -4, 1}}) {
    EXPECT_THROW(prune_by_magnitude(base::Matrix<Word>(1, 40), kF16, pattern), base::InputError)
        << pattern.name();
  }
}

}  // namespace
}  // namespace sptc::sparsity
