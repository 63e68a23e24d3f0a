// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/staggered_ctas.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

TEST(StaggeredCtas, GetTheirOwnTurnWhereAllSmsAreInStep) {
  // 250 CTAs on 100 SMs that hold one: the first 50 get a third one.
  StaggeredCtas ctas({0, 49, 50}, 100, 1, 250);
  for (const auto& [part, sm] :
       std::vector<std::pair<std::size_t, int>>{{0, 0}, {1, 49}, {2, 50}}) {
    EXPECT_EQ(ctas.first(part), sm);
    EXPECT_EQ(ctas.next(part, 1000, 0), 100 + sm);
    EXPECT_EQ(ctas.next(part, 2000, 0), sm < 50 ? 200 + sm : -1) << sm;
  }
}

TEST(StaggeredCtas, StartAsManyAsFitAndNoMoreThanThereAre) {
  StaggeredCtas ctas({0, 30}, 100, 2, 120);
  EXPECT_EQ(ctas.first(0), 0);
  EXPECT_EQ(ctas.first(1), 30);
  EXPECT_EQ(ctas.first(0), 100);
  EXPECT_EQ(ctas.first(1), -1);
  EXPECT_EQ(ctas.next(0, 1000, 0), -1);
}

/// Records of one SM with room for one CTA, each of which takes 10000 cycles.
std::vector<std::vector<CtaRecord>> one_by_one(StaggeredCtas& ctas, std::int64_t spread) {
  std::vector<std::vector<CtaRecord>> records(1);
  std::int64_t cta = ctas.first(0);
  for (std::int64_t now = 0; cta >= 0; now += 10000) {
    records[0].push_back({cta, now, now + 10000});
    cta = ctas.next(0, now + 10000, spread);
  }
  return records;
}

TEST(StaggeredCtas, TheLastRoundIsOfTheFirstSmsAndEndsBeforeTheMiddleOne) {
  StaggeredCtas quarter({0}, 100, 1, 225);
  const auto records = one_by_one(quarter, 1000);
  ASSERT_EQ(records[0].size(), 3U);
  EXPECT_NEAR(static_cast<double>(quarter.last_end_behind(records, 1000)), (0.25 - 0.5) * 1000, 10);
  EXPECT_EQ(quarter.last_end_behind(records, 0), 0);

  StaggeredCtas all({0}, 100, 1, 300);
  EXPECT_NEAR(static_cast<double>(all.last_end_behind(one_by_one(all, 1000), 1000)), 500, 10);
}

TEST(StaggeredCtas, ARoundThatStartsTogetherEndsTogether) {
  StaggeredCtas ctas({0}, 100, 1, 60);
  EXPECT_EQ(ctas.last_end_behind(one_by_one(ctas, 1000), 1000), 0);
}

TEST(StaggeredCtas, OneOfTheFirstSmsGetsTwoWhereTheLastOnesAreFarBehind) {
  // 50 CTAs are left when rooms come, on each SM two, 600 cycles apart. Most SMs have theirs within
  // 0.4 of the spread.
  const auto second = [](std::int64_t spread) {
    StaggeredCtas ctas({0}, 100, 2, 250);
    EXPECT_EQ(ctas.first(0), 0);
    EXPECT_EQ(ctas.first(0), 100);
    EXPECT_EQ(ctas.next(0, 10000, spread), 200);
    return ctas.next(0, 10600, spread);
  };
  EXPECT_EQ(second(2500), -1);   // 60 SMs have had room by then
  EXPECT_EQ(second(3000), -1);   // 50
  EXPECT_EQ(second(3250), 249);  // 46: the turn of nobody that is simulated
}

}  // namespace
}  // namespace sptc::sim
