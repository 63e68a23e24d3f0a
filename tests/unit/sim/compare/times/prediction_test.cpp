// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/prediction.h"

#include "models/base/error.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::compare::times {
namespace {

Measurement row_of(std::int64_t n) {
  Measurement row;
  row.launch.shape = {64, n, 32};
  row.time_us = 1;
  return row;
}

std::vector<Measurement> some_rows() {
  std::vector<Measurement> rows;
  for (std::int64_t n = 1; n <= 37; ++n) {
    rows.push_back(row_of(n % 11 + 1));
  }
  return rows;
}

Prediction launch_of(double time_us) {
  Prediction launch;
  launch.time_us = time_us;
  return launch;
}

/// How often a launch is simulated for `rows`.
int launches_for(const std::vector<Measurement>& rows) {
  int calls = 0;
  predict_launches(rows, 1,
                   [&]() -> LaunchPredictor {
                     return [&](const Measurement&) {
                       ++calls;
                       return launch_of(1);
                     };
                   },
                   {});
  return calls;
}

TEST(PredictLaunches, AreTheSameInTheSameOrderForAnyNumberOfProcesses) {
  const auto make = []() -> LaunchPredictor {
    return [](const Measurement& row) {
      Prediction launch = launch_of(10.0 * static_cast<double>(row.launch.shape.n));
      launch.power_w = static_cast<double>(row.launch.shape.n);
      return launch;
    };
  };
  const std::vector<Measurement> rows = some_rows();
  for (const int jobs : {1, 2, 3, 50}) {
    const std::vector<Prediction> launches = predict_launches(rows, jobs, make, {});
    ASSERT_EQ(launches.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(launches[i].time_us, 10.0 * static_cast<double>(rows[i].launch.shape.n)) << jobs;
      EXPECT_EQ(launches[i].power_w, static_cast<double>(rows[i].launch.shape.n)) << jobs;
    }
  }
}

TEST(PredictLaunches, SimulatesEqualLaunchesOnce) {
  EXPECT_EQ(launches_for(some_rows()), 11);
  std::vector<Measurement> rows(3, row_of(1));
  rows[1].time_us = 2;
  rows[1].power_w = 300;
  rows[2].source = "elsewhere";
  EXPECT_EQ(launches_for(rows), 1);
}

TEST(PredictLaunches, SimulatesEachConditionOfALaunch) {
  const std::vector<void (*)(MeasuredLaunch&)> changes = {
      [](MeasuredLaunch&) {},
      [](MeasuredLaunch& l) { l.shape.m = 65; },
      [](MeasuredLaunch& l) { l.dtype = numerics::DataType::kBf16; },
      [](MeasuredLaunch& l) { l.pattern = sparsity::parse_weight_pattern("2:4"); },
      [](MeasuredLaunch& l) { l.d_dtype = numerics::DataType::kF32; },
      [](MeasuredLaunch& l) {
        l.conditions.l2 = {kernels::L2State::Kind::kWarm, 1};
      },
      [](MeasuredLaunch& l) {
        l.conditions.l2 = {kernels::L2State::Kind::kRotate, 2};
      },
      [](MeasuredLaunch& l) {
        l.conditions.l2 = {kernels::L2State::Kind::kRotate, 3};
      },
      [](MeasuredLaunch& l) { l.conditions.launch = kernels::LaunchMode::kGraph; },
      [](MeasuredLaunch& l) { l.conditions.algorithm = kernels::Algorithm::kBest; },
      [](MeasuredLaunch& l) {
        l.repetition = kernels::Repetition{0, 1};
      },
      [](MeasuredLaunch& l) {
        l.repetition = kernels::Repetition{1, 1};
      },
      [](MeasuredLaunch& l) { l.operands = workload::DataKind::kZeros; },
      [](MeasuredLaunch& l) { l.clock_mhz = 1000; },
      [](MeasuredLaunch& l) { l.power_limit_w = 300; }};
  std::vector<Measurement> rows;
  for (const auto change : changes) {
    rows.push_back(row_of(1));
    change(rows.back().launch);
  }
  EXPECT_EQ(launches_for(rows), static_cast<int>(changes.size()));
}

TEST(PredictLaunches, WhatAProcessRefusesIsReported) {
  const auto make = []() -> LaunchPredictor {
    return [](const Measurement& row) -> Prediction {
      if (row.launch.shape.n == 3) {
        throw base::InputError("n = 3 does not fit");
      }
      return launch_of(1);
    };
  };
  EXPECT_EQ(support::input_error_of([&] { predict_launches(some_rows(), 2, make, {}); }),
            "n = 3 does not fit");
}

}  // namespace
}  // namespace sptc::compare::times
