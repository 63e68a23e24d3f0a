// SPDX-License-Identifier: Apache-2.0
// tests/timing/elided_test.cpp holds that nothing is remembered wrong.
#include "sim/hardware/tensor_core/passage_memo.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace sptc::tensor_core {
namespace {

constexpr std::uint64_t kDemand = 3;

Backlog left(std::int64_t work, std::int64_t cycles) {
  return {{work}, cycles};
}

/// Has learnt a passage of 2 and 20 cycles, three cycles behind one that leaves 5 to do for 10
/// cycles, and that leaves as much; the latest one began in cycle 17.
PassageMemo learnt() {
  PassageMemo memo;
  EXPECT_EQ(memo.find(10, kDemand), nullptr);
  memo.learn({12, 30}, left(5, 10));
  EXPECT_EQ(memo.find(15, kDemand), nullptr);
  memo.learn({17, 35}, left(5, 10));
  return memo;
}

TEST(PassageMemo, KnowsThePassageThatMeetsWhatAnotherOneMet) {
  PassageMemo memo = learnt();
  for (std::int64_t arrival = 20; arrival < 1000; arrival += 5) {
    const Passage* const known = memo.find(arrival, kDemand);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->operands_read, arrival + 2);
    EXPECT_EQ(known->done, arrival + 20);
    EXPECT_EQ(memo.latest(), arrival + 2);
    EXPECT_EQ(memo.backlog()->left, left(5, 10).left);
  }
}

TEST(PassageMemo, DoesNotKnowWhatComesAtAnotherTimeOrAsksForSomethingElse) {
  EXPECT_EQ(learnt().find(21, kDemand), nullptr);
  EXPECT_EQ(learnt().find(20, kDemand + 1), nullptr);
}

TEST(PassageMemo, KnowsWhatAnotherOneHasLearntInTheSameTable) {
  const auto table = std::make_shared<PassageTable>();
  PassageMemo one, other;
  for (PassageMemo* const memo : {&one, &other}) {
    memo->use(table);
    EXPECT_EQ(memo->find(10, kDemand), nullptr);
    memo->learn({12, 30}, left(5, 10));
  }
  EXPECT_EQ(one.find(15, kDemand), nullptr);
  one.learn({17, 35}, left(5, 10));
  const Passage* const known = other.find(15, kDemand);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->operands_read, 17);
  EXPECT_EQ(known->done, 35);
}

TEST(PassageMemo, StartsAnewWhenThereIsTooMuchToRemember) {
  PassageMemo memo = learnt();
  std::int64_t latest = 17;
  for (std::int64_t work = 6; work < 10'000; ++work) {
    EXPECT_EQ(memo.find(latest + 1, kDemand), nullptr);
    latest += 2;
    memo.learn({latest, latest + 9}, left(work, work));
    EXPECT_EQ(memo.latest(), latest);
    EXPECT_EQ(memo.backlog()->left, left(work, work).left);
  }
}

}  // namespace
}  // namespace sptc::tensor_core
