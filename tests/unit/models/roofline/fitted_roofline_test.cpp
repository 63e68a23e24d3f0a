// SPDX-License-Identifier: Apache-2.0
#include "models/roofline/fitted_roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::roofline {
namespace {

std::vector<TimedGemm> timed_by(const FittedRoofline& truth) {
  std::vector<TimedGemm> rows;
  for (const std::int64_t m : {512, 4096, 12288}) {
    for (const std::int64_t k : {512, 4096, 8192}) {
      for (std::int64_t n = 1; n <= 8192; n *= 2) {
        rows.push_back({{m, n, k}, truth.time_us({m, n, k})});
      }
    }
  }
  return rows;
}

TEST(FittedRoofline, IsNeverBelowComputeMemoryOrFixedTimeAlone) {
  const FittedRoofline roofline{240e6, 1.6e6, 5, 1.5};
  const GemmShape shape{4096, 256, 4096};
  const double flop = 2.0 * 4096 * 256 * 4096;
  const double bytes = 2.0 * (4096.0 * 4096 + 256 * 4096 + 4096 * 256);
  EXPECT_GT(roofline.time_us(shape), flop / 240e6);
  EXPECT_GT(roofline.time_us(shape), bytes / 1.6e6);
  EXPECT_LT(roofline.time_us(shape), 5 + flop / 240e6 + bytes / 1.6e6);
}

TEST(FitRoofline, FindsTheRooflineThatMadeTheTimes) {
  const FittedRoofline truth{233e6, 1.67e6, 4.8, 1.45};
  const std::vector<TimedGemm> rows = timed_by(truth);
  const FittedRoofline fitted = fit_roofline(rows);
  double error = 0;
  for (const TimedGemm& row : rows) {
    error += std::abs(fitted.time_us(row.shape) / row.time_us - 1);
  }
  EXPECT_LT(error / static_cast<double>(rows.size()), 0.01);
  EXPECT_NEAR(fitted.flop_per_us, truth.flop_per_us, 0.03 * truth.flop_per_us);
  EXPECT_NEAR(fitted.bytes_per_us, truth.bytes_per_us, 0.05 * truth.bytes_per_us);
}

}  // namespace
}  // namespace sptc::roofline
