// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::compare::times {
namespace {

TEST(Statistics, QuantilesAreInterpolatedInAnyOrder) {
  EXPECT_EQ(quantile({30, 10, 20, 40}, 0.5), 25);
  EXPECT_EQ(quantile({30, 10, 20, 40}, 1), 40);
  EXPECT_EQ(quantile({7}, 0.9), 7);
}

TEST(Statistics, HalfOfTheWeightLiesOnEitherSideOfAWeightedMedian) {
  EXPECT_EQ(weighted_median({{3, 1}, {1, 1}, {2, 1}}), 2);
  EXPECT_EQ(weighted_median({{3, 5}, {1, 1}, {2, 1}}), 3);
  EXPECT_EQ(weighted_median({{3, 1}, {1, 5}, {2, 1}}), 1);
  EXPECT_EQ(weighted_median({{4, 2}}), 4);
}

TEST(Statistics, CorrelationIsThatOfPearson) {
  const std::vector<double> x{1, 2, 3};
  EXPECT_NEAR(correlation(x, std::vector<double>{2, 4, 6}).value(), 1, 1e-12);
  EXPECT_NEAR(correlation(x, std::vector<double>{3, 2, 1}).value(), -1, 1e-12);
  EXPECT_NEAR(correlation(x, std::vector<double>{1, 3, 2}).value(), 0.5, 1e-12);
  EXPECT_FALSE(correlation(x, std::vector<double>{5, 5, 5}).has_value());
  EXPECT_FALSE(correlation({}, {}).has_value());
}

}  // namespace
}  // namespace sptc::compare::times
