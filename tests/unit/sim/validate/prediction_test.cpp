// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/prediction.h"

#include "models/base/error.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::sim {
namespace {

std::vector<Measurement> some_rows() {
  std::vector<Measurement> rows;
  for (std::int64_t n = 1; n <= 37; ++n) {
    rows.push_back({{64, n % 11 + 1, 32}, 1.0, ""});
  }
  return rows;
}

Prediction launch_of(double time_us) {
  Prediction launch;
  launch.time_us = time_us;
  return launch;
}

TEST(PredictTimes, AreTheSameInTheSameOrderForAnyNumberOfProcesses) {
  const auto make = []() -> TimePredictor {
    return [](const GemmShape& shape) { return launch_of(10.0 * static_cast<double>(shape.n)); };
  };
  const std::vector<Measurement> rows = some_rows();
  for (const int jobs : {1, 2, 3, 50}) {
    const std::vector<Prediction> launches = predict_times(rows, jobs, make, {});
    ASSERT_EQ(launches.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(launches[i].time_us, 10.0 * static_cast<double>(rows[i].shape.n)) << jobs;
    }
  }
}

TEST(PredictTimes, SimulatesEqualShapesOnce) {
  int calls = 0;
  predict_times(some_rows(), 1,
                [&]() -> TimePredictor {
                  return [&](const GemmShape&) {
                    ++calls;
                    return launch_of(1);
                  };
                },
                {});
  EXPECT_EQ(calls, 11);
}

TEST(PredictTimes, WhatAProcessRefusesIsReported) {
  const auto make = []() -> TimePredictor {
    return [](const GemmShape& shape) -> Prediction {
      if (shape.n == 3) {
        throw InputError("n = 3 does not fit");
      }
      return launch_of(1);
    };
  };
  EXPECT_EQ(input_error_of([&] { predict_times(some_rows(), 2, make, {}); }), "n = 3 does not fit");
}

}  // namespace
}  // namespace sptc::sim
