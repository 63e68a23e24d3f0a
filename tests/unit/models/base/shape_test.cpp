// SPDX-License-Identifier: Apache-2.0
#include "models/base/shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace sptc::base {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(CheckedMultiply, GivesTheProductThatFits) {
  EXPECT_EQ(checked_multiply(3, -4), -12);
  EXPECT_EQ(checked_multiply(0, kLargest), 0);
  EXPECT_EQ(checked_multiply(kLargest, 1), kLargest);
  EXPECT_EQ(checked_multiply(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
}

TEST(CheckedMultiply, GivesNothingWhereTheProductOverflows) {
  EXPECT_FALSE(checked_multiply(kLargest, 2));
  EXPECT_FALSE(checked_multiply(std::int64_t{1} << 32, std::int64_t{1} << 31));
  EXPECT_FALSE(checked_multiply(std::numeric_limits<std::int64_t>::min(), -1));
}

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(ceil_div(0, 8), 0);
  EXPECT_EQ(ceil_div(1, 8), 1);
  EXPECT_EQ(ceil_div(8, 8), 1);
  EXPECT_EQ(ceil_div(9, 8), 2);
}

TEST(CeilDiv, DoesNotOverflowNearTheLargestInteger) {
  EXPECT_EQ(ceil_div(kLargest, 2), (std::int64_t{1} << 62));
  EXPECT_EQ(ceil_div(kLargest, kLargest), 1);
}

TEST(RoundUp, GivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 16), 0);
  EXPECT_EQ(round_up(1, 16), 16);
  EXPECT_EQ(round_up(32, 16), 32);
}

}  // namespace
}  // namespace sptc::base
