// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/point/point_runner.h"

#include <cstdint>
#include <span>

namespace sptc::sweep::execution {

/// A point and PointRunner::estimated_seconds() of it.
struct EstimatedPoint {
  std::uint64_t position = 0;
  float seconds = 0;
};

/// How long points take one after the other.
struct TimeEstimate {
  double seconds = 0;
  double low = 0, high = 0;  ///< if all points were off as the best and the worst of the measured
  int measured = 0;          ///< points that were simulated for it; 0: the runner's guess alone
};

/// Simulates the shortest, the median and a long one of `points`, each at most `limit_s` seconds,
/// and scales the runner's guesses by what they took.
TimeEstimate estimate_time(const space::SweepPlan& plan, point::PointRunner& runner,
                           std::span<EstimatedPoint> points, double limit_s = 10);

}  // namespace sptc::sweep::execution
