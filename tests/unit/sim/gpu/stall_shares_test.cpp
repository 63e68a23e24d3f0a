// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/stall_shares.h"

#include <gtest/gtest.h>

namespace sptc::gpu {
namespace {

using sm::StallReason;

void expect_shares(const StallShares& shares, double mma, double dram, double ends, double no_cta) {
  EXPECT_DOUBLE_EQ(shares[StallReason::kMma], mma);
  EXPECT_DOUBLE_EQ(shares[StallReason::kDram], dram);
  EXPECT_DOUBLE_EQ(shares[StallReason::kEnds], ends);
  EXPECT_DOUBLE_EQ(shares[StallReason::kNoCta], no_cta);
  EXPECT_DOUBLE_EQ(shares.total(), 1);
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
