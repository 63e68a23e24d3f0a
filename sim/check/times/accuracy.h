// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "models/roofline/fitted_roofline.h"
#include "sim/check/times/measurements.h"
#include "sim/kernels/launch_conditions.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::check::times {

struct Comparison {
  Measurement measured;
  Prediction simulated;
  std::optional<Prediction> recorded = std::nullopt;  ///< with the kernel that the row names

  /// Signed: (simulated - measured) / measured.
  double error() const { return simulated.time_us / measured.time_us - 1; }
};

// Times -------------------------------------------------------------------------------------------

/// Errors of a group of rows, relative to the measured time.
struct ErrorFigures {
  std::int64_t count = 0;
  double mape_percent = 0;  ///< mean absolute percentage error
  double bias_percent = 0;  ///< mean of the signed errors
};

/// Errors of the rows of one type and sparsity.
struct AccuracyOfKind {
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string sparsity;
  ErrorFigures errors;
  /// Four constants fitted to these very rows, and the error of that roofline; nothing for few rows.
  std::optional<roofline::FittedRoofline> roofline;
  std::optional<double> roofline_mape_percent;
};

/// How far simulated times are from measured ones.
struct Accuracy {
  ErrorFigures errors;
  std::vector<AccuracyOfKind> by;
  /// The baseline: the rooflines of `by` on the rows that have one.
  std::optional<double> baseline_mape_percent;
  std::vector<Comparison> worst;  ///< by absolute error, worst first
};

/// `rows` must not be empty.
Accuracy measure_accuracy(std::span<const Comparison> rows);

// Kernels -----------------------------------------------------------------------------------------

/// Two errors of the rows that name the kernel that ran: with the kernel that the model chooses, which is that of model
/// and choice, and with the one that ran, which is that of the model.
struct KernelAccuracy {
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string sparsity;
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  ErrorFigures chosen, recorded;
  double same_tile_percent = 0;    ///< rows and columns of the tile are those that ran
  double same_kernel_percent = 0;  ///< also CTAs of the cluster and slices of K
};

/// Accuracy by type, sparsity and algorithm, of the rows that have both.
std::vector<KernelAccuracy> measure_kernels(std::span<const Comparison> rows);

// Power -------------------------------------------------------------------------------------------

/// Whether the watts of a row are those of its launches: NVML averages power over up to a second, and the pause before
/// is part of that where the launches of a row are done sooner.
bool has_steady_power(const Measurement& row);

/// Errors of the watts of rows with steady power. Nothing where no such row has both watts.
std::optional<ErrorFigures> measure_power(std::span<const Comparison> rows);

// Speed-ups ---------------------------------------------------------------------------------------

/// How far simulated speed-ups of sparse over dense launches are from measured ones. A speed-up r is dense over sparse
/// time of one shape.
struct SpeedupFigures {
  std::int64_t count = 0;
  double measured_geomean = 0;
  double simulated_geomean = 0;
  double mean_error_percent = 0;  ///< mean of |simulated r / measured r - 1|
  /// The least that any one constant has in place of simulated r.
  double constant_error_percent = 0;
  std::optional<double> log_correlation;  ///< of log r; nothing where one of both does not vary
  /// A loss is an r below 0.95. What was measured from 0.90 to 1.00 may be one by noise alone, and counts in none of
  /// the three.
  std::int64_t losses_measured = 0;  ///< measured r below 0.90
  std::int64_t losses_called = 0;    ///< of these, simulated r below 0.95
  std::int64_t false_losses = 0;     ///< measured r above 1.00, simulated r below 0.95
};

/// Those of one type on one path: the algorithm of the sparse library, and what the L2 holds.
struct SpeedupOfKind {
  numerics::DataType dtype = numerics::DataType::kF16;
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  std::string l2;  ///< "cold", "warm", "rotate"
  SpeedupFigures figures;
};

struct SpeedupAccuracy {
  SpeedupFigures all;
  std::vector<SpeedupOfKind> by;
};

/// Pairs launches that have MeasuredLaunch::gain_key() in common. Where rows repeat a launch its time is their
/// geometric mean. Nothing where no launch was measured both dense and sparse.
std::optional<SpeedupAccuracy> measure_speedups(std::span<const Comparison> rows);

}  // namespace sptc::check::times
