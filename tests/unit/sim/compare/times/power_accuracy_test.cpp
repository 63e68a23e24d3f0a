// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/power_accuracy.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::compare::times {
namespace {

/// A row whose launch took 100 us at 400 W, of 400 W allowed.
Comparison at_cap(double simulated_w, double simulated_uj) {
  Comparison row;
  row.measured.launch.shape = {4096, 4096, 4096};
  row.measured.launch.power_limit_w = 400;
  row.measured.time_us = 100;
  row.measured.power_w = 400;
  row.simulated.power_w = simulated_w;
  row.simulated.energy_uj = simulated_uj;
  return row;
}

TEST(PowerAccuracy, WattsOfAllRowsCountAndEnergyOfThoseAtTheCap) {
  std::vector<Comparison> rows{at_cap(400, 44000), at_cap(300, 36000), at_cap(420, 60000)};
  rows.push_back(at_cap(100, 1));
  rows.back().measured.power_w = 200;
  const PowerAccuracy accuracy = measure_power(rows).value();
  EXPECT_EQ(accuracy.count, 4);
  EXPECT_NEAR(accuracy.mape_percent, (0 + 25 + 5 + 50) / 4.0, 1e-9);
  EXPECT_NEAR(accuracy.bias_percent, (0 - 25 + 5 - 50) / 4.0, 1e-9);
  EXPECT_EQ(accuracy.at_cap_count, 3);
  EXPECT_NEAR(accuracy.energy_per_flop_error_percent.value(), (10 + 10 + 50) / 3.0, 1e-9);
  EXPECT_NEAR(accuracy.energy_per_flop_median_ratio.value(), 1.1, 1e-12);
}

TEST(PowerAccuracy, TheCapIsNearTheLimitAndBeyondTheBandwidthOfDram) {
  const auto caps = [](Comparison row) {
    return measure_power(std::vector<Comparison>{row}).value().at_cap_count;
  };
  Comparison row = at_cap(400, 40000);
  row.measured.power_w = 388;
  EXPECT_EQ(caps(row), 1);
  row.measured.power_w = 387.9;
  EXPECT_EQ(caps(row), 0);
  row = at_cap(400, 40000);
  row.measured.launch.power_limit_w.reset();
  EXPECT_EQ(caps(row), 0);
  row = at_cap(400, 40000);
  row.measured.launch.shape = {2400, 2400, 2400};  // 800 operations per element
  EXPECT_EQ(caps(row), 0);
  row.measured.launch.shape = {2401, 2401, 2401};
  EXPECT_EQ(caps(row), 1);
}

TEST(PowerAccuracy, LeavesOutLaunchesThatAreDoneBeforeNvmlHasAveraged) {
  Comparison row = at_cap(300, 40000);
  row.measured.launch.repetition = kernels::Repetition{4000, 6000};  // of 100 us
  EXPECT_TRUE(has_steady_power(row.measured));
  EXPECT_EQ(measure_power(std::vector<Comparison>{row}).value().count, 1);
  row.measured.launch.repetition->warmup = 3999;
  EXPECT_FALSE(has_steady_power(row.measured));
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
  EXPECT_EQ(measure_power(std::vector<Comparison>{row, at_cap(300, 40000)}).value().count, 1);
}

TEST(PowerAccuracy, IsNothingWhereOneOfBothWattsIsMissing) {
  Comparison row = at_cap(400, 40000);
  row.measured.power_w.reset();
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
  row = at_cap(400, 40000);
  row.simulated.power_w.reset();
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
}

}  // namespace
}  // namespace sptc::compare::times
