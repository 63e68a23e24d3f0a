// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/pareto_front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace sptc::prune::plan {
namespace {

/// Losses are multiples of 1/64, so that their sums are exact in any order.
std::vector<Choice> random_choices(std::mt19937_64& random, std::size_t count, int low) {
  std::uniform_int_distribution<int> gain(1, 40), loss(low, 60);
  std::vector<Choice> choices(count);
  for (Choice& choice : choices) {
    choice = {gain(random), loss(random) / 64.0};
  }
  return choices;
}

Choice sum_of(const std::vector<Choice>& choices, std::size_t set) {
  Choice sum;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    sum.gain += (set >> i & 1) != 0 ? choices[i].gain : 0;
    sum.loss += (set >> i & 1) != 0 ? choices[i].loss : 0;
  }
  return sum;
}

/// Every set that none other dominates, by looking at all of them.
std::vector<Choice> front_of_all_sets(const std::vector<Choice>& choices) {
  std::vector<Choice> sets(std::size_t{1} << choices.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    sets[i] = sum_of(choices, i);
  }
  std::sort(sets.begin(), sets.end(),
            [](const Choice& a, const Choice& b) { return a.loss != b.loss ? a.loss < b.loss : a.gain > b.gain; });
  std::vector<Choice> front;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (const Choice& set : sets) {
    if (set.gain > most) {
      front.push_back(set);
      most = set.gain;
    }
  }
  return front;
}

void expect_sets_add_up(const ParetoFront& front, const std::vector<Choice>& choices) {
  for (const ParetoPoint& point : front.points) {
    std::size_t set = 0;
    for (const std::size_t taken : point.taken) {
      set |= std::size_t{1} << taken;
    }
    EXPECT_TRUE(std::is_sorted(point.taken.begin(), point.taken.end()));
    EXPECT_EQ(sum_of(choices, set).gain, point.gain);
    EXPECT_EQ(sum_of(choices, set).loss, point.loss);
  }
}

TEST(ParetoFront, IsThatOfAllSets) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Choice> choices = random_choices(random, round % 13, round % 2 == 0 ? 0 : -20);
    const ParetoFront front = pareto_front(choices);
    const std::vector<Choice> expected = front_of_all_sets(choices);
    ASSERT_EQ(front.points.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(front.points[i].gain, expected[i].gain);
      EXPECT_EQ(front.points[i].loss, expected[i].loss);
    }
    EXPECT_EQ(front.resolution, 0);
    expect_sets_add_up(front, choices);
  }
}

TEST(ParetoFront, LimitsChooseTheBestSet) {
  std::mt19937_64 random(12);
  const std::vector<Choice> choices = random_choices(random, 11, 1);
  const ParetoFront front = pareto_front(choices);
  const std::vector<Choice> all = front_of_all_sets(choices);
  for (int step = 0; step < 80; ++step) {
    const double loss = step / 16.0;
    std::int64_t most = 0;
    for (const Choice& set : all) {
      most = set.loss <= loss ? std::max(most, set.gain) : most;
    }
    ASSERT_NE(within_loss(front, loss), nullptr);
    EXPECT_EQ(within_loss(front, loss)->gain, most);
    const ParetoPoint* const fast = with_gain(front, step * 4);
    const auto expected = std::find_if(all.begin(), all.end(), [&](const Choice& set) { return set.gain >= step * 4; });
    ASSERT_EQ(fast != nullptr, expected != all.end());
    EXPECT_TRUE(fast == nullptr || fast->loss == expected->loss);
  }
  EXPECT_EQ(within_loss(front, -0.5), nullptr);
  EXPECT_EQ(with_gain(front, 1'000'000), nullptr);
}

TEST(ParetoFront, AThinFrontKeepsItsResolution) {
  std::mt19937_64 random(13);
  const std::vector<Choice> choices = random_choices(random, 14, 1);
  const ParetoFront thin = pareto_front(choices, 16);
  EXPECT_LE(thin.points.size(), 17U);
  EXPECT_GT(thin.resolution, 0);
  expect_sets_add_up(thin, choices);
  for (const Choice& set : front_of_all_sets(choices)) {
    const ParetoPoint* const close = with_gain(thin, set.gain);
    ASSERT_NE(close, nullptr);
    EXPECT_LE(close->loss, set.loss + thin.resolution + 1e-12);
  }
}

}  // namespace
}  // namespace sptc::prune::plan
