// SPDX-License-Identifier: Apache-2.0
// How far simulated times are from those of cuBLAS on an A100, as `sptcsim validate` has it, on the
// rows of the profiles that are kept here: one in 220 or 80, so that the figures are not those of
// the whole profiles.
#include "sim/config/architecture.h"
#include "sim/run/gemm_launcher.h"
#include "sim/validate/accuracy.h"
#include "sim/validate/measurements.h"
#include "sim/validate/prediction.h"
#include "sim/validate/profile_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

/// Percentage points above today's figure: a slip by half a point of the mean shows.
constexpr double kRoom = 0.4;

struct Figures {
  double mean, bias;  ///< error [%], absolute and signed
};

/// Errors [%] on the rows that no number was fitted on, or on the others.
Accuracy accuracy_of(Fidelity fidelity, bool held_out) {
  RunOptions options;
  options.fidelity = fidelity;
  options.check = CheckMode::kNone;
  options.clock = ClockPolicy::sustained();
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  GemmTimer timer(gpu, options);
  std::vector<Measurement> measured;
  for (const Measurement& row :
       read_measurements(std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/gemm_f16_a100.csv")) {
    if (row.source.starts_with("internlm") == held_out) {
      measured.push_back(row);
    }
  }
  std::vector<Prediction> launches = predict_times(
      measured, 1,
      [&]() -> TimePredictor {
        return [&](const GemmShape& shape) -> Prediction {
          Operation op;
          op.shape = shape;
          const VariantResult launch = timer(op, false);
          return {launch.time_us,       launch.launch_us,       launch.clock_mhz,
                  launch.clock_scaling, launch.kernel.cta_tile, launch.kernel.split_k};
        };
      },
      [](std::size_t, std::size_t) {});
  follow_profile(measured, gpu.kernels, launches);
  std::vector<Comparison> rows;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    rows.push_back({measured[i], launches[i].time_us});
  }
  return measure_accuracy(rows);
}

void expect_no_farther_off(Fidelity fidelity, bool held_out, const Figures& today) {
  const Accuracy accuracy = accuracy_of(fidelity, held_out);
  std::printf("%lld rows: mean error %.2f %%, bias %+.2f %%\n",
              static_cast<long long>(accuracy.count), accuracy.mape_percent, accuracy.bias_percent);
  EXPECT_EQ(accuracy.count, 52);
  EXPECT_LE(accuracy.mape_percent, today.mean + kRoom);
  // Too fast on some rows and too slow on others can leave the mean as it is.
  EXPECT_LE(std::abs(accuracy.bias_percent - today.bias), 2 * kRoom);
}

TEST(MeasuredTimes, FittedRowsInClosedFormAreAsFarOffAsTheyWere) {
  expect_no_farther_off(Fidelity::kAnalytic, false, {4.76, -2.26});
}

TEST(MeasuredTimes, HeldOutRowsInClosedFormAreAsFarOffAsTheyWere) {
  expect_no_farther_off(Fidelity::kAnalytic, true, {5.58, 1.33});
}

TEST(MeasuredTimes, FittedRowsInSystemCAreAsFarOffAsTheyWere) {
  expect_no_farther_off(Fidelity::kTiming, false, {4.99, -1.96});
}

TEST(MeasuredTimes, HeldOutRowsInSystemCAreAsFarOffAsTheyWere) {
  expect_no_farther_off(Fidelity::kTiming, true, {5.88, 1.78});
}

}  // namespace
}  // namespace sptc::sim
