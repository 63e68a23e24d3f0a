// SPDX-License-Identifier: Apache-2.0
// 2:4 and dense f16 GEMMs of an A100 that were measured by others. The tile of the sparse kernels
// was chosen on these rows; nothing else was fitted on them.
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/validate/launch_simulation.h"
#include "sim/validate/measurements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

const std::string kData = std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/";

/// At the clock that the power limit of an A100 allows.
RunOptions limited(const GpuSpec& gpu) {
  RunOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  options.power = power_spec(load_energy("a100-sxm4-80gb").config, gpu);
  options.clock_limited = true;
  return options;
}

double time_us(LaunchSimulation& simulate, const GemmShape& shape, bool sparse) {
  MeasuredLaunch launch;
  launch.shape = shape;
  if (sparse) {
    launch.pattern = sparsity::WeightPattern{{2, 4}};
  }
  return simulate(launch).time_us;
}

bool from_cusparselt(const Measurement& row) {
  return row.source.starts_with("cuSPARSELt");
}

class PublishedSparse : public testing::Test {
 protected:
  const Architecture of_cusparselt = load_architecture(kData + "a100-cusparselt.json");
  const Architecture of_cublas = load_architecture("a100-sxm4-80gb");
  LaunchSimulation sparse{of_cusparselt, limited(of_cusparselt.gpu)};
  LaunchSimulation dense{of_cublas, limited(of_cublas.gpu)};
  std::vector<Measurement> sparse_rows = read_measurements(kData + "a100_sparse_f16.csv");
  std::vector<Measurement> dense_rows = read_measurements(kData + "a100_dense_f16.csv");
};

/// `errors` of eleven launches have a mean absolute error of at most `percent`.
void expect_mean_error(const std::vector<double>& errors, double percent) {
  ASSERT_EQ(errors.size(), 11U);
  double sum = 0, signed_sum = 0;
  for (const double error : errors) {
    sum += std::abs(error);
    signed_sum += error;
  }
  const auto count = static_cast<double>(errors.size());
  std::printf("mean error %.2f %%, bias %+.2f %%\n", 100 * sum / count, 100 * signed_sum / count);
  EXPECT_LE(100 * sum / count, percent);
}

TEST_F(PublishedSparse, TimesOfCusparseltAreWithinThirteenPercentOnAverage) {
  std::vector<double> errors;
  for (const Measurement& row : sparse_rows) {
    if (from_cusparselt(row)) {
      errors.push_back(time_us(sparse, row.launch.shape, true) / row.time_us - 1);
    }
  }
  expect_mean_error(errors, 13);  // 11.7
}

TEST_F(PublishedSparse, TimesOfCutlassAreWithinTwelvePercentOnAverage) {
  std::vector<double> errors;
  for (const Measurement& row : sparse_rows) {
    if (row.source.starts_with("CUTLASS")) {
      errors.push_back(time_us(sparse, row.launch.shape, true) / row.time_us - 1);
    }
  }
  expect_mean_error(errors, 11.5);  // 10.2
}

TEST_F(PublishedSparse, TimesOfCublasAreWithinFifteenPercentOnAverage) {
  std::vector<double> errors;
  for (const Measurement& row : dense_rows) {
    errors.push_back(time_us(dense, row.launch.shape, false) / row.time_us - 1);
  }
  expect_mean_error(errors, 15);  // 13.6
}

TEST_F(PublishedSparse, SpeedupsAreMostlyInTheMeasuredOrder) {
  std::vector<double> measured;
  std::vector<double> simulated;
  for (const Measurement& row : sparse_rows) {
    for (const Measurement& other : dense_rows) {
      if (from_cusparselt(row) && row.launch.shape == other.launch.shape) {
        measured.push_back(other.time_us / row.time_us);
        simulated.push_back(time_us(dense, row.launch.shape, false) /
                            time_us(sparse, row.launch.shape, true));
        std::printf("%lld x %lld x %lld: measured %.2f, simulated %.2f\n",
                    static_cast<long long>(row.launch.shape.m),
                    static_cast<long long>(row.launch.shape.n),
                    static_cast<long long>(row.launch.shape.k), measured.back(), simulated.back());
      }
    }
  }
  ASSERT_EQ(measured.size(), 11U);
  // Of the pairs that the measurement tells apart, by 0.15 in speed-up.
  int right = 0;
  int wrong = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < measured.size(); ++j) {
      if (measured[i] > measured[j] + 0.15) {
        ++(simulated[i] > simulated[j] ? right : wrong);
      }
    }
  }
  std::printf("pairs in order %d, not %d\n", right, wrong);
  // 27 against 6.
  EXPECT_GE(right, 4 * wrong);
}

}  // namespace
}  // namespace sptc::sim
