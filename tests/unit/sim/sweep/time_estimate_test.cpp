// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/plan_summary.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

namespace sptc::sweep {
namespace {

/// Sleeps for as long as the point has in `naps`, and notes it.
class Sleeper : public PointRunner {
 public:
  std::map<std::uint64_t, std::chrono::milliseconds> naps;
  std::vector<std::uint64_t> runs;

  bool needs_process(const SweepPoint& /*point*/) const override { return false; }
  double estimated_seconds(const SweepPlan& /*plan*/, const SweepPoint& /*point*/) const override { return 0; }
  PointOutcome run(const SweepPlan& /*plan*/, const SweepPoint& point) override {
    runs.push_back(point.position);
    std::this_thread::sleep_for(naps[point.position]);
    return {};
  }
};

class EstimatedTime : public testing::Test {
 protected:
  static constexpr double kLimitS = 10;
  const SweepPlan plan =
      make_plan({{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}},
                 {"axes", {{{"option", "seed"}, {"range", {{"from", 1}, {"to", 20}, {"step", 1}}}}}}});
  Sleeper sleeper;
};

// By their guesses the points are 19, 2 to 18, 1 and 0: those at the places 0, 10 and 18 are 19, 11
// and 1, and each runs once before it is measured.
TEST_F(EstimatedTime, ScalesTheGuessesByTheShortestTheMedianAndALongPoint) {
  std::vector<EstimatedPoint> points;
  for (std::uint64_t position = 0; position < 20; ++position) {
    points.push_back({position, position == 19 ? 0x1p-7F : position > 1 ? 1.0F : 10.0F});
  }
  points[0].seconds = 100;
  sleeper.naps[19] = std::chrono::milliseconds(16);
  const TimeEstimate estimate = estimate_time(plan, sleeper, points, kLimitS);
  EXPECT_EQ(sleeper.runs, (std::vector<std::uint64_t>{19, 19, 11, 11, 1, 1}));
  EXPECT_EQ(estimate.measured, 3);
  // The guesses take 100 s, 10 s, 17 times 1 s and 2^-7 s. The shortest point took at least twice
  // its guess, and the long one, which is below the limit, less than its guess.
  constexpr double kGuess = 127 + 0x1p-7;
  EXPECT_GE(estimate.high, 2 * kGuess);
  EXPECT_LT(estimate.low, kGuess);
  EXPECT_GT(estimate.low, 0);
  EXPECT_LT(estimate.low, estimate.seconds);
  EXPECT_LT(estimate.seconds, estimate.high);
}

TEST_F(EstimatedTime, IsTheGuessWhereEveryPointIsAboveTheLimit) {
  std::vector<EstimatedPoint> points{{0, 16}, {1, 32}, {2, 64}};
  const TimeEstimate estimate = estimate_time(plan, sleeper, points, kLimitS);
  EXPECT_TRUE(sleeper.runs.empty());
  EXPECT_EQ(estimate.measured, 0);
  EXPECT_EQ(estimate.seconds, 112);
  EXPECT_EQ(estimate.low, 112);
  EXPECT_EQ(estimate.high, 112);
}

TEST_F(EstimatedTime, MeasuresOneOfOnePoint) {
  std::vector<EstimatedPoint> points{{7, 1}};
  EXPECT_EQ(estimate_time(plan, sleeper, points, kLimitS).measured, 1);
  EXPECT_EQ(sleeper.runs, (std::vector<std::uint64_t>{7, 7}));
}

}  // namespace
}  // namespace sptc::sweep
