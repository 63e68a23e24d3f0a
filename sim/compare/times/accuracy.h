// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "models/roofline/fitted_roofline.h"
#include "sim/compare/times/comparison.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::compare::times {

/// Errors of a group of rows, relative to the measured time.
struct ErrorFigures {
  std::int64_t count = 0;
  double mape_percent = 0;  ///< mean absolute percentage error
  double bias_percent = 0;  ///< mean of the signed errors
};

/// Errors of the rows with n in [n_min, n_max].
struct AccuracyBand {
  std::int64_t n_min = 0, n_max = 0;
  ErrorFigures errors;
};

/// Errors of the rows of one type and sparsity.
struct AccuracyOfKind {
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string sparsity;
  ErrorFigures errors;
  /// Four constants fitted to these very rows, and the error of that roofline; nothing for few
  /// rows.
  std::optional<roofline::FittedRoofline> roofline;
  std::optional<double> roofline_mape_percent;
};

/// How far simulated times are from measured ones.
struct Accuracy {
  ErrorFigures errors;
  double median_ape_percent = 0;  ///< median of the absolute percentage errors
  double p90_ape_percent = 0;     ///< their 90th percentile
  std::vector<AccuracyOfKind> by;
  /// The baseline: the rooflines of `by` on the rows that have one.
  std::optional<double> baseline_mape_percent;
  /// Of these rows the correlation of log(measured / baseline) with log(simulated / baseline):
  /// whether what a roofline does not know (tiles, waves, kernel choice) is predicted.
  std::optional<double> residual_correlation;
  std::vector<AccuracyBand> bands;  ///< by n, in powers of four
  std::vector<Comparison> worst;    ///< by absolute error, worst first
};

/// `rows` must not be empty.
Accuracy measure_accuracy(std::span<const Comparison> rows);

}  // namespace sptc::compare::times
