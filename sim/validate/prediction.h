// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/validate/measurements.h"

#include <functional>
#include <span>
#include <vector>

namespace sptc::sim {

/// Simulated microseconds of one dense GEMM.
using TimePredictor = std::function<double(const GemmShape& shape)>;

/// Simulated times of `rows`, in their order. Each of `jobs` processes makes its own predictor
/// (SystemC elaborates once per process) and takes every jobs-th of the distinct shapes; with one
/// job nothing is forked. `progress` hears shapes done and how many there are, from the first
/// process. An InputError of a process is thrown here.
std::vector<double> predict_times(std::span<const Measurement> rows, int jobs,
                                  const std::function<TimePredictor()>& make_predictor,
                                  const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace sptc::sim
