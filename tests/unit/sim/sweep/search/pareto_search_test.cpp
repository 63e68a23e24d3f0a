// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/search/pareto_search.h"

#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace sptc::sweep::search {
namespace {

/// A search among designs of 1 to `most` SMs.
space::SweepPlan plan_of_sms(int most) {
  return make_plan(
      {{"axes", {{{"parameter", "/sms"}, {"range", {{"from", 1}, {"to", most}, {"step", 1}}}}}},
       {"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}},
       {"sample", {{"kind", "pareto"}, {"points", 1}}}});
}

/// What `search` asks in a round, whose costs it is told.
std::vector<std::uint64_t> round(ParetoSearch& search,
                                 const std::function<Costs(std::uint64_t)>& costs_of) {
  const std::vector<std::uint64_t> asked = search.next(1000);
  std::vector<Costs> costs;
  for (const std::uint64_t position : asked) {
    costs.push_back(costs_of(position));
  }
  search.tell(costs);
  return asked;
}

TEST(ParetoSearch, LeavesADesignSpaceWhereAllFails) {
  constexpr std::uint64_t kFirstThatRuns = 300;
  const space::SweepPlan plan = plan_of_sms(400);
  ParetoSearch search(plan);
  const auto costs_of = [](std::uint64_t position) {
    const auto x = static_cast<double>(position);
    return position < kFirstThatRuns ? Costs{} : Costs{x, 1e5 / x};
  };
  round(search, costs_of);
  int failed = 0, ran = 0;
  for (int i = 0; i < 8; ++i) {
    for (const std::uint64_t position : round(search, costs_of)) {
      ++(position < kFirstThatRuns ? failed : ran);
    }
  }
  // Of the designs a quarter runs.
  EXPECT_GT(ran, failed);
}

TEST(ParetoSearch, SpreadsThePointsOfARound) {
  const space::SweepPlan plan = plan_of_sms(2000);
  ParetoSearch search(plan);
  const auto costs_of = [](std::uint64_t position) {
    const auto x = static_cast<double>(position + 1);
    return Costs{x, 1e6 / x};
  };
  round(search, costs_of);
  std::vector<std::uint64_t> asked = round(search, costs_of);
  ASSERT_EQ(asked.size(), 4U);
  std::sort(asked.begin(), asked.end());
  for (std::size_t i = 1; i < asked.size(); ++i) {
    EXPECT_GT(asked[i] - asked[i - 1], 1U) << asked[i];
  }
}

}  // namespace
}  // namespace sptc::sweep::search
