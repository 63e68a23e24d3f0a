// SPDX-License-Identifier: Apache-2.0
#include "models/roofline/fitted_roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::roofline {
namespace {

std::vector<TimedGemm> timed_by(const FittedRoofline& truth, const ElementBytes& bytes) {
  std::vector<TimedGemm> rows;
  for (const std::int64_t m : {512, 4096, 12288}) {
    for (const std::int64_t k : {512, 4096, 8192}) {
      for (std::int64_t n = 1; n <= 8192; n *= 2) {
        const GemmWork work = work_of({m, n, k}, bytes);
        rows.push_back({work, truth.time_us(work)});
      }
    }
  }
  return rows;
}

TEST(FittedRoofline, IsNeverBelowComputeMemoryOrFixedTimeAlone) {
  const FittedRoofline roofline{240e6, 1.6e6, 5, 1.5};
  const GemmWork work = work_of({4096, 256, 4096}, {});
  const double flop = 2.0 * 4096 * 256 * 4096;
  const double bytes = 2.0 * (4096.0 * 4096 + 256 * 4096 + 4096 * 256);
  EXPECT_GT(roofline.time_us(work), flop / 240e6);
  EXPECT_GT(roofline.time_us(work), bytes / 1.6e6);
  EXPECT_LT(roofline.time_us(work), 5 + flop / 240e6 + bytes / 1.6e6);
}

TEST(GemmWork, CountsElementsByTheirTypes) {
  // s8 at 2:4 with f32 results: half a byte of A, one of B, four of D.
  const GemmWork work = work_of({64, 8, 128}, {0.5, 1, 4});
  EXPECT_EQ(work.flop, 2.0 * 64 * 8 * 128);
  EXPECT_EQ(work.bytes, 0.5 * 64 * 128 + 8 * 128 + 4.0 * 64 * 8);
}

/// Whether the roofline that made the times of GEMMs with `bytes` is found again.
void expect_found(const FittedRoofline& truth, const ElementBytes& bytes) {
  const std::vector<TimedGemm> rows = timed_by(truth, bytes);
  const FittedRoofline fitted = fit_roofline(rows);
  double error = 0;
  for (const TimedGemm& row : rows) {
    error += std::abs(fitted.time_us(row.work) / row.time_us - 1);
  }
  EXPECT_LT(error / static_cast<double>(rows.size()), 0.01);
  EXPECT_NEAR(fitted.flop_per_us, truth.flop_per_us, 0.03 * truth.flop_per_us);
  EXPECT_NEAR(fitted.bytes_per_us, truth.bytes_per_us, 0.05 * truth.bytes_per_us);
}

TEST(FitRoofline, FindsTheRooflineThatMadeTheTimes) {
  expect_found({233e6, 1.67e6, 4.8, 1.45}, {});
}

TEST(FitRoofline, FindsTheRateOfAnyType) {
  expect_found({2600e6, 3.3e6, 6, 1.8}, {0.5, 1, 1});
}

}  // namespace
}  // namespace sptc::roofline
