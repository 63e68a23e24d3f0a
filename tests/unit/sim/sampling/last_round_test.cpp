// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/last_round.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::sampling {
namespace {

/// Of SM 0 of 100, which takes 10000 cycles for each of `ctas` CTAs, one behind the other.
std::vector<std::vector<sm::CtaRecord>> of_first_sm(std::int64_t ctas) {
  std::vector<std::vector<sm::CtaRecord>> records(1);
  for (std::int64_t i = 0; i < ctas; ++i) {
    records[0].push_back({100 * i, 10000 * i, 10000 * (i + 1)});
  }
  return records;
}

TEST(LastRound, OfTheFirstSmsEndsBeforeThatOfTheMiddleOne) {
  EXPECT_EQ(simulated_to_last_end(of_first_sm(3), {225, 100, 1}, 1000), -250);
  EXPECT_EQ(simulated_to_last_end(of_first_sm(3), {225, 100, 1}, 0), 0);
}

TEST(LastRound, OfAllSmsEndsWithTheLastOfThem) {
  EXPECT_EQ(simulated_to_last_end(of_first_sm(3), {300, 100, 1}, 1000), 500);
}

TEST(LastRound, MayBeOverBeforeTheRoundBeforeItEndsOnTheLastSms) {
  // The last SM ends its second CTA half of the spread behind the simulated one, which ends its
  // third, short one 1000 cycles behind its second.
  auto records = of_first_sm(3);
  records[0][2].end_cycle = 21000;
  EXPECT_EQ(simulated_to_last_end(records, {201, 100, 1}, 8000), 4000 - 1000);
}

TEST(LastRound, OfAnSmThatIsLaterByMoreThanACtaHasOneLess) {
  EXPECT_EQ(simulated_to_last_end(of_first_sm(2), {200, 100, 1}, 10000), 5000);
  EXPECT_EQ(simulated_to_last_end(of_first_sm(2), {200, 100, 1}, 1000000), 5000);
}

TEST(LastRound, ThatIsTheOnlyOneStartsAndEndsTogether) {
  EXPECT_EQ(simulated_to_last_end(of_first_sm(1), {60, 100, 1}, 1000), 0);
  EXPECT_EQ(simulated_to_last_end(of_first_sm(2), {150, 100, 2}, 1000), 0);
}

}  // namespace
}  // namespace sptc::sampling
