// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/roofline/fitted_roofline.h"
#include "sim/validate/measurements.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sptc::sim {

/// One measurement beside its simulation.
struct Comparison {
  Measurement measured;
  double simulated_us = 0;

  /// Signed: (simulated - measured) / measured.
  double error() const { return simulated_us / measured.time_us - 1; }
};

/// Errors of the rows with n in [n_min, n_max].
struct AccuracyBand {
  std::int64_t n_min = 0, n_max = 0;
  std::int64_t count = 0;
  double mape_percent = 0;
  double bias_percent = 0;
};

/// How far simulated times are from measured ones. All errors are relative to the measured time.
struct Accuracy {
  std::int64_t count = 0;
  double mape_percent = 0;        ///< mean absolute percentage error
  double median_ape_percent = 0;  ///< median of the absolute percentage errors
  double p90_ape_percent = 0;     ///< their 90th percentile
  double bias_percent = 0;        ///< mean of the signed errors
  /// The baseline: a roofline of four constants, fitted to these very measurements, and its error.
  std::optional<roofline::FittedRoofline> baseline;
  std::optional<double> baseline_mape_percent;
  /// Correlation of log(measured / baseline) with log(simulated / baseline): whether what the
  /// roofline does not know (tiles, waves, kernel choice) is predicted. Absent for few rows.
  std::optional<double> residual_correlation;
  std::vector<AccuracyBand> bands;  ///< by n, in powers of four
  std::vector<Comparison> worst;    ///< by absolute error, worst first
};

/// `rows` must not be empty.
Accuracy measure_accuracy(std::span<const Comparison> rows);

}  // namespace sptc::sim
