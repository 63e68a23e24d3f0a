// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::check::times {
namespace {

Comparison timed(std::int64_t n, double measured, double simulated) {
  Comparison result;
  result.measured.launch.shape = {1024, n, 1024};
  result.measured.time_us = measured;
  result.simulated.time_us = simulated;
  return result;
}

TEST(Accuracy, ErrorsAreRelativeToTheMeasuredTime) {
  const std::vector<Comparison> rows = {timed(1, 100, 110), timed(64, 100, 80), timed(65, 200, 200),
                                        timed(256, 10, 15)};
  const Accuracy accuracy = measure_accuracy(rows);
  EXPECT_EQ(accuracy.errors.count, 4);
  EXPECT_NEAR(accuracy.errors.mape_percent, (10 + 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_NEAR(accuracy.errors.bias_percent, (10 - 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_FALSE(accuracy.baseline_mape_percent.has_value());
  EXPECT_NEAR(accuracy.worst.front().error(), 0.5, 1e-12);
  EXPECT_EQ(accuracy.worst.size(), 4U);
}

TEST(Accuracy, RowsAreToldApartByTypeAndSparsityAndDenseComesFirst) {
  std::vector<Comparison> rows(4, timed(1, 100, 110));
  rows[1].measured.launch.pattern = sparsity::parse_weight_pattern("2:4");
  rows[1].simulated.time_us = 70;
  rows[2].measured.launch.dtype = numerics::DataType::kS8;
  rows[3].measured.time_us = 220;
  const Accuracy accuracy = measure_accuracy(rows);
  ASSERT_EQ(accuracy.by.size(), 3U);
  EXPECT_EQ(accuracy.by[0].dtype, numerics::DataType::kF16);
  EXPECT_EQ(accuracy.by[0].sparsity, "dense");
  EXPECT_EQ(accuracy.by[0].errors.count, 2);
  EXPECT_NEAR(accuracy.by[0].errors.mape_percent, (10 + 50) / 2.0, 1e-9);
  EXPECT_NEAR(accuracy.by[0].errors.bias_percent, (10 - 50) / 2.0, 1e-9);
  EXPECT_FALSE(accuracy.by[0].roofline_mape_percent.has_value());
  EXPECT_EQ(accuracy.by[1].sparsity, "2:4");
  EXPECT_NEAR(accuracy.by[1].errors.bias_percent, -30, 1e-9);
  EXPECT_EQ(accuracy.by[2].dtype, numerics::DataType::kS8);
}

TEST(Accuracy, EachTypeAndSparsityHasItsOwnRoofline) {
  // 2:4 of s8 with D in s32 at five times the rate of f16.
  const roofline::FittedRoofline dense{240e6, 1.6e6, 5, 1.5}, sparse{1200e6, 1.6e6, 5, 1.5};
  std::vector<Comparison> rows;
  for (const std::int64_t n : {1, 8, 64, 512, 4096}) {
    for (const std::int64_t m : {512, 4096, 16384}) {
      for (const std::int64_t k : {512, 4096, 8192}) {
        const base::GemmShape shape{m, n, k};
        rows.push_back(timed(n, dense.time_us(roofline::work_of(shape, {2, 2, 2})), 1));
        rows.back().measured.launch.shape = shape;
        rows.push_back(timed(n, sparse.time_us(roofline::work_of(shape, {0.5, 1, 4})), 1));
        rows.back().measured.launch.shape = shape;
        rows.back().measured.launch.dtype = numerics::DataType::kS8;
        rows.back().measured.launch.pattern = sparsity::parse_weight_pattern("2:4");
      }
    }
  }
  rows.push_back(timed(64, 1, 1));
  rows.back().measured.launch.dtype = numerics::DataType::kE4m3;
  const Accuracy accuracy = measure_accuracy(rows);
  ASSERT_EQ(accuracy.by.size(), 3U);
  EXPECT_LT(accuracy.by[0].roofline_mape_percent.value(), 1);
  EXPECT_LT(accuracy.by[1].roofline_mape_percent.value(), 1);
  EXPECT_NEAR(accuracy.by[1].roofline->flop_per_us / accuracy.by[0].roofline->flop_per_us, 5, 0.25);
  EXPECT_FALSE(accuracy.by[2].roofline.has_value());
  EXPECT_LT(accuracy.baseline_mape_percent.value(), 1);
}

TEST(KernelAccuracy, HasTheErrorOfTheModelAndThatOfModelAndChoice) {
  std::vector<Comparison> rows(3);
  for (Comparison& row : rows) {
    row.measured.time_us = 10;
    row.simulated.time_us = 12;
    row.simulated.cta_tile = {128, 128, 64};
    row.recorded = row.simulated;
    row.recorded->time_us = 9;
  }
  rows[1].recorded->cta_tile.n = 256;
  rows[2].recorded->cluster_ctas = 2;
  const std::vector<KernelAccuracy> kinds = measure_kernels(rows);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_NEAR(kinds[0].chosen.mape_percent, 20, 1e-9);
  EXPECT_NEAR(kinds[0].recorded.bias_percent, -10, 1e-9);
  EXPECT_NEAR(kinds[0].same_tile_percent, 200.0 / 3, 1e-9);
  EXPECT_NEAR(kinds[0].same_kernel_percent, 100.0 / 3, 1e-9);
}

/// A row whose launch took 100 us at 400 W.
Comparison watts(double simulated_w) {
  Comparison row;
  row.measured.time_us = 100;
  row.measured.power_w = 400;
  row.simulated.power_w = simulated_w;
  return row;
}

TEST(PowerAccuracy, HasTheErrorOfTheWatts) {
  const std::vector<Comparison> rows{watts(400), watts(300), watts(420)};
  const ErrorFigures errors = measure_power(rows).value();
  EXPECT_EQ(errors.count, 3);
  EXPECT_NEAR(errors.mape_percent, (0 + 25 + 5) / 3.0, 1e-9);
  EXPECT_NEAR(errors.bias_percent, (0 - 25 + 5) / 3.0, 1e-9);
}

TEST(PowerAccuracy, LeavesOutLaunchesThatAreDoneBeforeNvmlHasAveraged) {
  Comparison row = watts(300);
  row.measured.launch.repetition = kernels::Repetition{4000, 6000};  // of 100 us
  EXPECT_TRUE(has_steady_power(row.measured));
  EXPECT_EQ(measure_power(std::vector<Comparison>{row}).value().count, 1);
  row.measured.launch.repetition->warmup = 3999;
  EXPECT_FALSE(has_steady_power(row.measured));
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
  EXPECT_EQ(measure_power(std::vector<Comparison>{row, watts(300)}).value().count, 1);
}

TEST(PowerAccuracy, IsNothingWhereOneOfBothWattsIsMissing) {
  Comparison row = watts(400);
  row.measured.power_w.reset();
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
  row = watts(400);
  row.simulated.power_w.reset();
  EXPECT_FALSE(measure_power(std::vector<Comparison>{row}).has_value());
}

/// Both launches of a shape with n columns; the sparse one takes 100 us.
void add_pair(std::int64_t n, double measured_speedup, double simulated_speedup, std::vector<Comparison>& rows) {
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

TEST(SpeedupAccuracy, APairIsOneWhateverClockAndTypeOfDOfItsLaunches) {
  std::vector<Comparison> rows;
  add_pair(1, 1.5, 1.4, rows);
  rows[1].measured.launch.d_dtype = numerics::DataType::kF32;
  rows[0].measured.launch.clock_mhz = 1400;
  rows[1].measured.launch.clock_mhz = 1700;
  const SpeedupFigures figures = measure_speedups(rows).value().all;
  EXPECT_EQ(figures.count, 1);
  EXPECT_NEAR(figures.measured_geomean, 1.5, 1e-12);
  rows[1].measured.launch.conditions.launch = kernels::LaunchMode::kGraph;
  EXPECT_FALSE(measure_speedups(rows).has_value());
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
}  // namespace sptc::check::times
