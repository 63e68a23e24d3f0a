// SPDX-License-Identifier: Apache-2.0
#include "models/energy/cost_factor.h"

#include "models/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace sptc::energy {
namespace {

/// 0: a supply; 1: a process node under it; 2 and 3: constants of that node; 4: one of its own.
const std::vector<CostFactor> kFactors = {{0.9, 1.2, -1}, {0.5, 2, 0}, {0.8, 1.5, 1}, {0.5, 3, 1}, {0.75, 1.25, -1}};

double sum_at(const std::vector<CostFactor>& factors, unsigned corner, const std::vector<double>& amounts) {
  double sum = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    double value = amounts[i];
    for (int at = static_cast<int>(i); at >= 0; at = factors[static_cast<std::size_t>(at)].under) {
      const CostFactor& factor = factors[static_cast<std::size_t>(at)];
      value *= (corner >> at & 1) != 0 ? factor.high : factor.low;
    }
    sum += value;
  }
  return sum;
}

TEST(CostFactor, BoundsAreThoseOfTheWorstCornersOfRandomSums) {
  const base::RandomStream random(40);
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<double> a, b, difference;
    for (std::uint64_t i = 0; i < kFactors.size(); ++i) {
      a.push_back(static_cast<double>(random.bits(trial * 16 + 2 * i) % 1000));
      b.push_back(static_cast<double>(1 + random.bits(trial * 16 + 2 * i + 1) % 1000));
      difference.push_back(a.back() - b.back());
    }
    Bounds sums{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    Bounds ratios = sums;
    for (unsigned corner = 0; corner < 1U << kFactors.size(); ++corner) {
      const double sum = sum_at(kFactors, corner, difference);
      const double ratio = sum_at(kFactors, corner, a) / sum_at(kFactors, corner, b);
      sums = {std::min(sums.low, sum), std::max(sums.high, sum)};
      ratios = {std::min(ratios.low, ratio), std::max(ratios.high, ratio)};
    }
    const Bounds sum = sum_bounds(kFactors, difference);
    EXPECT_NEAR(sum.low, sums.low, 1e-9 * std::abs(sums.low));
    EXPECT_NEAR(sum.high, sums.high, 1e-9 * std::abs(sums.high));
    const Bounds ratio = ratio_bounds(kFactors, a, b);
    EXPECT_NEAR(ratio.low, ratios.low, 1e-9 * ratios.low);
    EXPECT_NEAR(ratio.high, ratios.high, 1e-9 * ratios.high);
  }
}

}  // namespace
}  // namespace sptc::energy
