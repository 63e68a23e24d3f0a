// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/speedup_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::compare::times {
namespace {

/// Both launches of a shape with n columns; the sparse one takes 100 us.
void add_pair(std::int64_t n, double measured_speedup, double simulated_speedup,
              std::vector<Comparison>& rows) {
  Comparison dense;
  dense.measured.launch.shape = {1024, n, 1024};
  Comparison sparse = dense;
  sparse.measured.launch.pattern = sparsity::parse_weight_pattern("2:4");
  dense.measured.time_us = 100 * measured_speedup;
  dense.simulated.time_us = 100 * simulated_speedup;
  sparse.measured.time_us = sparse.simulated.time_us = 100;
  rows.push_back(dense);
  rows.push_back(sparse);
}

TEST(SpeedupAccuracy, FiguresAreThoseOfTheQuotients) {
  std::vector<Comparison> rows;
  add_pair(1, 2.0, 1.0, rows);
  add_pair(2, 1.0, 1.5, rows);
  add_pair(3, 1.25, 1.25, rows);
  const SpeedupFigures figures = measure_speedups(rows).value().all;
  EXPECT_EQ(figures.count, 3);
  EXPECT_NEAR(figures.measured_geomean, std::cbrt(2.5), 1e-12);
  EXPECT_NEAR(figures.simulated_geomean, std::cbrt(1.875), 1e-12);
  EXPECT_NEAR(figures.mean_error_percent, (50 + 50 + 0) / 3.0, 1e-9);
  // Weights 1, 0.8, 0.5: the constant is 1.25, which is off by 25, 0 and 37.5 %.
  EXPECT_NEAR(figures.constant_error_percent, (25 + 0 + 37.5) / 3, 1e-9);
  const double a = std::log(2.0), b = std::log(1.25), c = std::log(1.5);
  const double x = (a + b) / 3, y = (c + b) / 3;
  const double xy = (a - x) * (0 - y) + (0 - x) * (c - y) + (b - x) * (b - y);
  const double xx = (a - x) * (a - x) + x * x + (b - x) * (b - x);
  const double yy = y * y + (c - y) * (c - y) + (b - y) * (b - y);
  EXPECT_NEAR(figures.log_correlation.value(), xy / std::sqrt(xx * yy), 1e-12);
}

TEST(SpeedupAccuracy, APairIsOneWhateverTheClockOfItsLaunches) {
  std::vector<Comparison> rows;
  add_pair(1, 1.5, 1.4, rows);
  rows[0].measured.launch.clock_mhz = 1400;
  rows[1].measured.launch.clock_mhz = 1700;
  const SpeedupFigures figures = measure_speedups(rows).value().all;
  EXPECT_EQ(figures.count, 1);
  EXPECT_NEAR(figures.measured_geomean, 1.5, 1e-12);
  rows[1].measured.launch.conditions.launch = kernels::LaunchMode::kGraph;
  EXPECT_FALSE(measure_speedups(rows).has_value());
}

TEST(SpeedupAccuracy, NoOtherConstantIsNearerThanTheBestOne) {
  std::vector<Comparison> rows;
  const std::vector<double> measured{0.8, 1.1, 1.3, 1.45, 1.7, 1.9};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    add_pair(static_cast<std::int64_t>(i) + 1, measured[i], 1, rows);
  }
  double least = 1e9;
  for (double constant = 0.5; constant < 2.5; constant += 0.001) {
    double sum = 0;
    for (const double r : measured) {
      sum += 100 * std::abs(constant / r - 1);
    }
    least = std::min(least, sum / static_cast<double>(measured.size()));
  }
  const double best = measure_speedups(rows).value().all.constant_error_percent;
  EXPECT_LE(best, least + 1e-9);
  EXPECT_NEAR(best, least, 0.1);
}

TEST(SpeedupAccuracy, LossesNearOneCountOnNeitherSide) {
  std::vector<Comparison> rows;
  add_pair(1, 0.85, 0.94, rows);  // called
  add_pair(2, 0.85, 0.96, rows);  // not called
  add_pair(3, 0.92, 0.90, rows);  // neither, though it is a loss
  add_pair(4, 1.00, 0.90, rows);  // neither
  add_pair(5, 1.05, 0.94, rows);  // false
  add_pair(6, 1.05, 0.96, rows);
  const SpeedupFigures figures = measure_speedups(rows).value().all;
  EXPECT_EQ(figures.losses_measured, 2);
  EXPECT_EQ(figures.losses_called, 1);
  EXPECT_EQ(figures.false_losses, 1);
}

TEST(SpeedupAccuracy, OnlyLaunchesUnderTheSameConditionsMakeAPair) {
  std::vector<Comparison> rows;
  add_pair(1, 1.5, 1.4, rows);
  add_pair(2, 1.5, 1.4, rows);
  rows[3].measured.launch.conditions.l2 = {kernels::L2State::Kind::kWarm, 1};
  EXPECT_EQ(measure_speedups(rows).value().all.count, 1);
  rows[1].measured.launch.dtype = numerics::DataType::kBf16;
  EXPECT_FALSE(measure_speedups(rows).has_value());
}

TEST(SpeedupAccuracy, PairsMayDifferInTheTypeOfD) {
  std::vector<Comparison> rows;
  add_pair(1, 1.5, 1.4, rows);
  rows[1].measured.launch.d_dtype = numerics::DataType::kF32;
  EXPECT_EQ(measure_speedups(rows).value().all.count, 1);
}

TEST(SpeedupAccuracy, ALaunchThatWasMeasuredTwiceIsOneRow) {
  std::vector<Comparison> rows;
  add_pair(1, 1.0, 1.5, rows);
  rows.push_back(rows[0]);
  rows.back().measured.time_us = 400;
  const SpeedupFigures figures = measure_speedups(rows).value().all;
  EXPECT_EQ(figures.count, 1);
  EXPECT_NEAR(figures.measured_geomean, 2, 1e-12);
}

TEST(SpeedupAccuracy, TypesAreToldApart) {
  std::vector<Comparison> rows;
  add_pair(1, 1.5, 1.2, rows);
  add_pair(2, 2.0, 2.0, rows);
  rows[2].measured.launch.dtype = rows[3].measured.launch.dtype = numerics::DataType::kS8;
  const SpeedupAccuracy accuracy = measure_speedups(rows).value();
  ASSERT_EQ(accuracy.by.size(), 2U);
  EXPECT_EQ(accuracy.by[0].dtype, numerics::DataType::kF16);
  EXPECT_NEAR(accuracy.by[0].figures.mean_error_percent, 20, 1e-9);
  EXPECT_EQ(accuracy.by[1].figures.mean_error_percent, 0);
  EXPECT_NEAR(accuracy.all.mean_error_percent, 10, 1e-9);
  EXPECT_FALSE(accuracy.by[0].figures.log_correlation.has_value());
}

}  // namespace
}  // namespace sptc::compare::times
