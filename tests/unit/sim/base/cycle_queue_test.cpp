// SPDX-License-Identifier: Apache-2.0
#include "sim/base/cycle_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <tuple>

namespace sptc::base {
namespace {

TEST(CycleQueue, TakesByCycleThenRankThenAsPutIn) {
  CycleQueue<int> queue;
  // Cycle, rank, number: as they are put in, of near and far cycles.
  std::set<std::tuple<std::int64_t, int, int>> expected;
  std::uint64_t random = 1;
  const auto draw = [&](std::uint64_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((random >> 33) % below);
  };
  std::int64_t now = 0;
  for (int grid = 0; grid < 3; ++grid) {
    for (int i = 0; i < 30000; ++i) {
      const std::int64_t ahead = draw(50) == 0 ? draw(100000) : draw(20) == 0 ? 0 : draw(3000);
      const int rank = static_cast<int>(draw(5));
      queue.push(now + ahead, rank, i);
      expected.insert({now + ahead, rank, i});
      if (draw(2) == 0) {
        continue;
      }
      const std::int64_t until = now + draw(200);
      const int before = static_cast<int>(draw(6));
      for (int taken = -1; queue.take_before(until, before, taken);) {
        ASSERT_FALSE(expected.empty());
        ASSERT_EQ(taken, std::get<2>(*expected.begin()));
        expected.erase(expected.begin());
      }
      now = until;
      if (!expected.empty()) {
        const auto [cycle, of_first, number] = *expected.begin();
        ASSERT_TRUE(cycle > until || (cycle == until && of_first >= before));
        ASSERT_EQ(queue.first_cycle(), cycle);
      }
    }
    queue.clear();
    expected.clear();
    now = 0;
    EXPECT_EQ(queue.first_cycle(), CycleQueue<int>::kNever);
  }
}

TEST(CycleQueue, LeavesRoomBeforeWhatIsNotTakenYet) {
  CycleQueue<int> queue;
  int taken = 0;
  queue.push(150, 0, 1);
  EXPECT_FALSE(queue.take_before(100, 3, taken));
  queue.push(120, 0, 2);
  EXPECT_TRUE(queue.take_before(200, 0, taken));
  EXPECT_EQ(taken, 2);
  EXPECT_TRUE(queue.take_before(200, 0, taken));
  EXPECT_EQ(taken, 1);
  EXPECT_ANY_THROW(queue.push(149, 0, 3));
}

}  // namespace
}  // namespace sptc::base
