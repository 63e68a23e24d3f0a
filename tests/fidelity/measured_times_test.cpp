// SPDX-License-Identifier: Apache-2.0
// How far simulated times are from those of cuBLAS on an A100, as `sptcsim validate` has it, on the
// rows of the profiles that are kept here: one in 220 or 80, so that the figures are not those of
// the whole profiles.
#include "sim/check/times/accuracy.h"
#include "sim/check/times/launch_simulation.h"
#include "sim/check/times/measurements.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

/// Errors [%] on the rows that no number was fitted on, or on the others.
check::times::Accuracy accuracy_of(run::Fidelity fidelity, bool held_out) {
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  run::SimulationOptions options;
  options.fidelity = fidelity;
  options.power = config::power_spec(config::load_energy("a100-sxm4-80gb").config, a100.gpu);
  options.clock_limited = true;
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/gemm_f16_a100.csv";
  std::vector<check::times::Measurement> measured;
  for (const check::times::Measurement& row : check::times::read_measurements(file)) {
    if (row.source.starts_with("internlm") == held_out) {
      measured.push_back(row);
    }
  }
  const std::vector<check::times::Prediction> launches =
      check::times::simulate_launches(measured, file, a100, options, 1);
  std::vector<check::times::Comparison> rows;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    rows.push_back({measured[i], launches[i]});
  }
  return check::times::measure_accuracy(rows);
}

void expect_mean_error(const char* name, run::Fidelity fidelity, bool held_out) {
  const check::times::Accuracy accuracy = accuracy_of(fidelity, held_out);
  std::printf("%lld rows: mean error %.2f %%, bias %+.2f %%\n", static_cast<long long>(accuracy.errors.count),
              accuracy.errors.mape_percent, accuracy.errors.bias_percent);
  EXPECT_EQ(accuracy.errors.count, 52);
  support::expect_no_worse(name, accuracy.errors.mape_percent);
}

TEST(MeasuredTimes, OtherRowsInClosedForm) {
  expect_mean_error("A100 f16 other rows analytic mean %", run::Fidelity::kAnalytic, false);
}

TEST(MeasuredTimes, HeldOutRowsInClosedForm) {
  expect_mean_error("A100 f16 held out analytic mean %", run::Fidelity::kAnalytic, true);
}

TEST(MeasuredTimes, OtherRowsInSystemC) {
  expect_mean_error("A100 f16 other rows timing mean %", run::Fidelity::kTiming, false);
}

TEST(MeasuredTimes, HeldOutRowsInSystemC) {
  expect_mean_error("A100 f16 held out timing mean %", run::Fidelity::kTiming, true);
}

}  // namespace
}  // namespace sptc::fidelity
