// SPDX-License-Identifier: Apache-2.0
// 2:4 and dense f16 GEMMs of an A100 that were measured by others. The tile of the sparse kernels
// was chosen on these rows; nothing else was fitted on them.
#include "sim/check/times/launch_simulation.h"
#include "sim/check/times/measurements.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

const std::string kData = std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/";

/// At the clock that the power limit of an A100 allows.
run::SimulationOptions limited(const gpu::GpuSpec& gpu) {
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.power = config::power_spec(config::load_energy("a100-sxm4-80gb").config, gpu);
  options.clock_limited = true;
  return options;
}

double time_us(check::times::LaunchSimulation& simulate, const base::GemmShape& shape, bool sparse) {
  check::times::MeasuredLaunch launch;
  launch.shape = shape;
  if (sparse) {
    launch.pattern = sparsity::WeightPattern{{2, 4}};
  }
  return simulate(launch).time_us;
}

bool from_cusparselt(const check::times::Measurement& row) {
  return row.source.starts_with("cuSPARSELt");
}

class PublishedSparse : public testing::Test {
 protected:
  const config::Architecture of_cusparselt = config::load_architecture(kData + "a100-cusparselt.json");
  const config::Architecture of_cublas = config::load_architecture("a100-sxm4-80gb");
  check::times::LaunchSimulation sparse{of_cusparselt, limited(of_cusparselt.gpu)};
  check::times::LaunchSimulation dense{of_cublas, limited(of_cublas.gpu)};
  std::vector<check::times::Measurement> sparse_rows = check::times::read_measurements(kData + "a100_sparse_f16.csv");
  std::vector<check::times::Measurement> dense_rows = check::times::read_measurements(kData + "a100_dense_f16.csv");
};

/// `errors` of eleven launches have a mean absolute error of at most the recorded one of `name`.
void expect_mean_error(const std::vector<double>& errors, const char* name) {
  ASSERT_EQ(errors.size(), 11U);
  double sum = 0, signed_sum = 0;
  for (const double error : errors) {
    sum += std::abs(error);
    signed_sum += error;
  }
  const auto count = static_cast<double>(errors.size());
  std::printf("mean error %.2f %%, bias %+.2f %%\n", 100 * sum / count, 100 * signed_sum / count);
  support::expect_no_worse(name, 100 * sum / count);
}

TEST_F(PublishedSparse, TimesOfCusparselt) {
  std::vector<double> errors;
  for (const check::times::Measurement& row : sparse_rows) {
    if (from_cusparselt(row)) {
      errors.push_back(time_us(sparse, row.launch.shape, true) / row.time_us - 1);
    }
  }
  expect_mean_error(errors, "A100 cuSPARSELt f16 2:4 mean %");
}

TEST_F(PublishedSparse, TimesOfCutlass) {
  std::vector<double> errors;
  for (const check::times::Measurement& row : sparse_rows) {
    if (row.source.starts_with("CUTLASS")) {
      errors.push_back(time_us(sparse, row.launch.shape, true) / row.time_us - 1);
    }
  }
  expect_mean_error(errors, "A100 CUTLASS f16 2:4 mean %");
}

TEST_F(PublishedSparse, TimesOfCublas) {
  std::vector<double> errors;
  for (const check::times::Measurement& row : dense_rows) {
    errors.push_back(time_us(dense, row.launch.shape, false) / row.time_us - 1);
  }
  expect_mean_error(errors, "A100 cuBLAS f16 mean %");
}

TEST_F(PublishedSparse, SpeedupsAreMostlyInTheMeasuredOrder) {
  std::vector<double> measured;
  std::vector<double> simulated;
  for (const check::times::Measurement& row : sparse_rows) {
    for (const check::times::Measurement& other : dense_rows) {
      if (from_cusparselt(row) && row.launch.shape == other.launch.shape) {
        measured.push_back(other.time_us / row.time_us);
        simulated.push_back(time_us(dense, row.launch.shape, false) / time_us(sparse, row.launch.shape, true));
        std::printf("%lld x %lld x %lld: measured %.2f, simulated %.2f\n", static_cast<long long>(row.launch.shape.m),
                    static_cast<long long>(row.launch.shape.n), static_cast<long long>(row.launch.shape.k),
                    measured.back(), simulated.back());
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
  support::expect_no_worse("A100 f16 2:4 gains in the wrong order %", 100.0 * wrong / (right + wrong));
}

}  // namespace
}  // namespace sptc::fidelity
