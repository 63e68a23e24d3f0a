// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/zero_skipping.h"

#include "models/base/random.h"

#include <gtest/gtest.h>

namespace sptc::sparsity {
namespace {

TEST(ZeroSkipping, ArrayTakesWholeRowsAndColumnsAtATime) {
  const OuterProductArray array{8, 16};  // of 32 x 32, as DSTC has it
  EXPECT_EQ(array.passes(32, 32), 8);
  EXPECT_EQ(array.passes(8, 16), 1);
  EXPECT_EQ(array.passes(9, 16), 2);
  EXPECT_EQ(array.passes(9, 17), 4);
  EXPECT_EQ(array.passes(0, 32), 0);
  EXPECT_EQ(array.passes(32, 0), 0);
}

TEST(ZeroSkipping, MeanOfASmallVectorIsCountedByHand) {
  // Of two elements in groups of one: as many as are left.
  EXPECT_DOUBLE_EQ(mean_groups(2, 1, 0.5), 1);
  // In groups of two: one group unless both are zero.
  EXPECT_DOUBLE_EQ(mean_groups(2, 2, 0.5), 0.75);
  // Of three in groups of two: 3/8 + 3/8 once, 1/8 twice.
  EXPECT_NEAR(mean_groups(3, 2, 0.5), 0.375 + 0.375 + 2 * 0.125, 1e-14);
}

TEST(ZeroSkipping, NoZerosAndNothingElseAreExact) {
  EXPECT_EQ(mean_groups(64, 16, 1), 4);
  EXPECT_EQ(mean_groups(63, 16, 1), 4);
  EXPECT_EQ(mean_groups(64, 16, 0), 0);
  EXPECT_EQ((OuterProductArray{4, 8}.share(16, 8, {1, 1})), 1);
}

TEST(ZeroSkipping, FewerElementsNeverTakeMorePasses) {
  for (const auto& [extent, width] : {std::pair(16, 4), std::pair(64, 16), std::pair(1024, 64)}) {
    double before = 0;
    for (int step = 0; step <= 200; ++step) {
      const double groups = mean_groups(extent, width, step / 200.0);
      EXPECT_GE(groups, before - 1e-12) << extent << " " << step;
      before = groups;
    }
  }
}

TEST(ZeroSkipping, NoShareIsBetterThanThatOfTheProducts) {
  const OuterProductArray array{8, 4};
  for (const double a : {0.01, 0.1, 0.25, 0.5, 0.9, 1.0}) {
    for (const double b : {0.01, 0.3, 0.44, 0.82, 1.0}) {
      EXPECT_GE(array.share(64, 32, {a, b}) + 1e-12, a * b);
      EXPECT_LE(array.share(64, 32, {a, b}), 1);
    }
  }
}

TEST(ZeroSkipping, MeanIsThatOfCountedVectors) {
  const base::RandomStream stream(7);
  constexpr int kVectors = 20000, kExtent = 64, kWidth = 16;
  for (const double density : {0.25, 0.44, 0.82}) {
    double counted = 0;
    for (int vector = 0; vector < kVectors; ++vector) {
      int kept = 0;
      for (int i = 0; i < kExtent; ++i) {
        const auto index = static_cast<std::uint64_t>(vector * kExtent + i);
        kept += static_cast<double>(stream.below(index, 1 << 20)) < density * (1 << 20) ? 1 : 0;
      }
      counted += static_cast<double>((kept + kWidth - 1) / kWidth);
    }
    // Five standard errors of a figure that differs by less than 0.6.
    EXPECT_NEAR(counted / kVectors, mean_groups(kExtent, kWidth, density), 5 * 0.6 / 141);
  }
}

}  // namespace
}  // namespace sptc::sparsity
