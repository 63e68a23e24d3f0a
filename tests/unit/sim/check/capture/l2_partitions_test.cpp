// SPDX-License-Identifier: Apache-2.0
//
// Does the table of SMs and lines tell by itself whether the L2 has two sides?
#include "sim/check/capture/l2_partitions.h"

#include "models/base/random.h"

#include <gtest/gtest.h>

#include <functional>

namespace sptc::check::capture {
namespace {

constexpr int kSms = 30;
constexpr int kLines = 32;

/// 200 cycles, `extra(sm, line)` more, and noise of up to 20.
std::vector<LineTime> times_with(const std::function<double(int, int)>& extra) {
  const base::RandomStream stream(7);
  std::vector<LineTime> times;
  for (int sm = 0; sm < kSms; ++sm) {
    for (int line = 0; line < kLines; ++line) {
      const auto noise =
          static_cast<double>(stream.below(static_cast<std::uint64_t>(sm * kLines + line), 21));
      times.push_back({2 * sm, line, 200 + extra(sm, line) + noise});
    }
  }
  return times;
}

bool side_of_line(int line) {
  return line * 7 % 11 < 5;
}

TEST(L2Partitions, AreFoundWithTheirSizeAndTheTwoLatencies) {
  const auto found = find_partitions(
      times_with([](int sm, int line) { return (sm < 12) == side_of_line(line) ? 0.0 : 60.0; }));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->seen());
  EXPECT_GT(found->fitting, 0.99);
  EXPECT_EQ(found->sms, 30U);
  EXPECT_EQ(found->lines, 32U);
  EXPECT_TRUE(found->sms_of_one_side == 12 || found->sms_of_one_side == 18);
  EXPECT_NEAR(found->near_cycles, 210, 1.5);
  EXPECT_NEAR(found->far_cycles, 270, 1.5);
}

TEST(L2Partitions, ArePartOfNoNoiseAndOfNoDistance) {
  const auto noise = find_partitions(times_with([](int, int) { return 0.0; }));
  ASSERT_TRUE(noise);
  EXPECT_FALSE(noise->seen());
  EXPECT_LT(noise->fitting, 0.75);
  // SMs and lines that are far for everybody are no sides.
  const auto distance =
      find_partitions(times_with([](int sm, int line) { return 3.0 * sm + 2.0 * line; }));
  ASSERT_TRUE(distance);
  EXPECT_FALSE(distance->seen());
  std::vector<LineTime> same = times_with([](int, int) { return 0.0; });
  for (LineTime& time : same) {
    time.cycles = 212;
  }
  ASSERT_TRUE(find_partitions(same));
  EXPECT_FALSE(find_partitions(same)->seen());
}

TEST(L2Partitions, NeedEveryPairAndEnoughOfThem) {
  std::vector<LineTime> times = times_with([](int, int) { return 0.0; });
  times.push_back(times.front());  // an SM that had two turns
  EXPECT_TRUE(find_partitions(times));
  times.pop_back();
  times.pop_back();
  EXPECT_FALSE(find_partitions(times));
  times.push_back(times.front());
  EXPECT_FALSE(find_partitions(times));
  EXPECT_FALSE(find_partitions({}));
  EXPECT_FALSE(find_partitions({{0, 0, 1}, {1, 0, 1}}));
}

}  // namespace
}  // namespace sptc::check::capture
