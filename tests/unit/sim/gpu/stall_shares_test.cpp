// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/stall_shares.h"

#include <gtest/gtest.h>

namespace sptc::gpu {
namespace {

using sm::StallReason;

/// 1000 cycles of tensor cores in a grid of 2000 cycles: half a cycle for each product. An SM has
/// half the work of the busiest one, an output tile half of its k-tiles.
CountedGrid counted() {
  CountedGrid grid;
  grid.stalls[StallReason::kMma] = 400;
  grid.stalls[StallReason::kDram] = 200;
  grid.stalls[StallReason::kEnds] = 200;
  grid.stalls[StallReason::kNoCta] = 200;
  grid.macs = 800;
  grid.work = 0.5;
  grid.depth = 0.5;
  grid.cycles = 2000;
  return grid;
}

/// A launch of 4000 cycles whose mean SM has `mean` of the work of the busiest one.
CycleBudget twice_as_long(double mean) {
  CycleBudget budget;
  budget.cycles = 4000;
  budget.tensor = 1000;
  budget.tensor_mean = 1000 * mean;
  return budget;
}

/// Four tensor cores multiply for 0.5 * 8000 / 4 = 1000 cycles of the 4000.
StallShares scaled(double mean) {
  return scaled_stalls(counted(), 8000, 4, twice_as_long(mean));
}

void expect_shares(const StallShares& shares, double mma, double dram, double ends, double no_cta) {
  EXPECT_DOUBLE_EQ(shares[StallReason::kMma], mma);
  EXPECT_DOUBLE_EQ(shares[StallReason::kDram], dram);
  EXPECT_DOUBLE_EQ(shares[StallReason::kEnds], ends);
  EXPECT_DOUBLE_EQ(shares[StallReason::kNoCta], no_cta);
  EXPECT_DOUBLE_EQ(shares.total(), 1);
}

TEST(ScaledStalls, OfALaunchAreThoseThatFollowByHand) {
  // The last round is half of the launch: SMs have a CTA for 1 - 0.5 * 0.2 = 0.9 of the time, and
  // 1 - 0.5 * 0.5 = 0.75 of the work; with 0.5 of it, 0.9 * 0.5 / 0.75 = 0.6. Of the other 0.35 the
  // ends, half as long as beside DRAM, take a third.
  expect_shares(scaled(0.5), 0.25, 0.35 * 2 / 3, 0.35 / 3, 0.4);
}

TEST(ScaledStalls, SmsWithoutACtaMultiplyNothing) {
  // 1 - 0.9 * 0.1 / 0.75 = 0.88 of the time, of which 0.25 multiplies.
  expect_shares(scaled(0.1), 0.25, 0, 0, 0.75);
}

TEST(ScaledStalls, SmsHaveACtaAllTheTimeAtTheMost) {
  // 1 - 0.9 / 0.75 is below 0.
  expect_shares(scaled(1), 0.25, 0.5, 0.25, 0);
}

TEST(StallSharesWithMma, KeepTheProportionsOfTheOthers) {
  StallShares shares;
  shares[StallReason::kMma] = 0.5;
  shares[StallReason::kDram] = 0.25;
  shares[StallReason::kEnds] = 0.125;
  shares[StallReason::kNoCta] = 0.125;
  expect_shares(with_mma(shares, 0.2), 0.2, 0.4, 0.2, 0.2);
  StallShares alone;
  alone[StallReason::kMma] = 1;
  expect_shares(with_mma(alone, 0.2), 1, 0, 0, 0);
}

}  // namespace
}  // namespace sptc::gpu
