// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/clock_policy.h"
#include "sim/validate/measurements.h"

#include <functional>
#include <span>
#include <vector>

namespace sptc::sim {

/// What one launch takes, and how that follows the clock.
struct Prediction {
  double time_us = 0;
  double outside_us = 0;  ///< part of it that no SM has a part in
  double clock_mhz = 0;
  ClockScaling scaling;
  GemmShape cta_tile;  ///< of the kernel that was taken; k is logical
  int split_k = 1;

  /// At the clock `to_mhz` instead.
  Prediction at_clock(double to_mhz) const;
};

/// One launch of `shape`.
using TimePredictor = std::function<Prediction(const GemmShape& shape)>;

/// Simulated launches of `rows`, in their order. Each of `jobs` processes makes its own predictor
/// (SystemC elaborates once per process) and takes every jobs-th of the distinct shapes; with one
/// job nothing is forked. `progress` hears shapes done and how many there are, from the first
/// process. An InputError of a process is thrown here.
std::vector<Prediction> predict_times(
    std::span<const Measurement> rows, int jobs,
    const std::function<TimePredictor()>& make_predictor,
    const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace sptc::sim
