// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::compare::times {
namespace {

Comparison row(std::int64_t n, double measured, double simulated) {
  Comparison result;
  result.measured.launch.shape = {1024, n, 1024};
  result.measured.time_us = measured;
  result.simulated.time_us = simulated;
  return result;
}

TEST(Accuracy, ErrorsAreRelativeToTheMeasuredTime) {
  const std::vector<Comparison> rows = {row(1, 100, 110), row(64, 100, 80), row(65, 200, 200),
                                        row(256, 10, 15)};
  const Accuracy accuracy = measure_accuracy(rows);
  EXPECT_EQ(accuracy.errors.count, 4);
  EXPECT_NEAR(accuracy.errors.mape_percent, (10 + 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_NEAR(accuracy.median_ape_percent, 15, 1e-9);
  EXPECT_NEAR(accuracy.errors.bias_percent, (10 - 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_FALSE(accuracy.residual_correlation.has_value());
  EXPECT_FALSE(accuracy.baseline_mape_percent.has_value());
  ASSERT_EQ(accuracy.bands.size(), 2U);
  EXPECT_EQ(accuracy.bands[0].n_max, 64);
  EXPECT_EQ(accuracy.bands[0].errors.count, 2);
  EXPECT_NEAR(accuracy.bands[0].errors.bias_percent, -5, 1e-9);
  EXPECT_EQ(accuracy.bands[1].n_min, 65);
  EXPECT_NEAR(accuracy.worst.front().error(), 0.5, 1e-12);
  EXPECT_EQ(accuracy.worst.size(), 4U);
}

TEST(Accuracy, RowsAreToldApartByTypeAndSparsityAndDenseComesFirst) {
  std::vector<Comparison> rows(4, row(1, 100, 110));
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

/// Measured times: a roofline with a ripple of 20 % that repeats every 128 columns.
std::vector<Comparison> rippled(double ripple_of_simulation) {
  std::vector<Comparison> rows;
  for (std::int64_t n = 8; n <= 4096; n += 8) {
    const double trend = 5 + static_cast<double>(n) * 0.05;
    const double phase = std::sin(static_cast<double>(n) / 128 * 2 * M_PI);
    rows.push_back(row(n, trend * (1 + 0.2 * phase), trend * (1 + ripple_of_simulation * phase)));
  }
  return rows;
}

TEST(Accuracy, ResidualCorrelationTellsWhetherTheRippleIsPredicted) {
  EXPECT_GT(measure_accuracy(rippled(0.2)).residual_correlation.value(), 0.95);
  EXPECT_LT(measure_accuracy(rippled(-0.2)).residual_correlation.value(), -0.5);
  const Accuracy perfect = measure_accuracy(rippled(0.2));
  EXPECT_LT(perfect.errors.mape_percent, 1e-9);
  EXPECT_GT(perfect.baseline_mape_percent.value(), 5);
}

TEST(Accuracy, EachTypeAndSparsityHasItsOwnRoofline) {
  // 2:4 of s8 with D in s32 at five times the rate of f16.
  const roofline::FittedRoofline dense{240e6, 1.6e6, 5, 1.5}, sparse{1200e6, 1.6e6, 5, 1.5};
  std::vector<Comparison> rows;
  for (const std::int64_t n : {1, 8, 64, 512, 4096}) {
    for (const std::int64_t m : {512, 4096, 16384}) {
      for (const std::int64_t k : {512, 4096, 8192}) {
        const base::GemmShape shape{m, n, k};
        rows.push_back(row(n, dense.time_us(roofline::work_of(shape, {2, 2, 2})), 1));
        rows.back().measured.launch.shape = shape;
        rows.push_back(row(n, sparse.time_us(roofline::work_of(shape, {0.5, 1, 4})), 1));
        rows.back().measured.launch.shape = shape;
        rows.back().measured.launch.dtype = numerics::DataType::kS8;
        rows.back().measured.launch.pattern = sparsity::parse_weight_pattern("2:4");
      }
    }
  }
  rows.push_back(row(64, 1, 1));
  rows.back().measured.launch.dtype = numerics::DataType::kE4m3;
  const Accuracy accuracy = measure_accuracy(rows);
  ASSERT_EQ(accuracy.by.size(), 3U);
  EXPECT_LT(accuracy.by[0].roofline_mape_percent.value(), 1);
  EXPECT_LT(accuracy.by[1].roofline_mape_percent.value(), 1);
  EXPECT_NEAR(accuracy.by[1].roofline->flop_per_us / accuracy.by[0].roofline->flop_per_us, 5, 0.25);
  EXPECT_FALSE(accuracy.by[2].roofline.has_value());
  EXPECT_LT(accuracy.baseline_mape_percent.value(), 1);
}

}  // namespace
}  // namespace sptc::compare::times
