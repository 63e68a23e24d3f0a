// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/compare/times/comparison.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::compare::times {

/// How far simulated speed-ups of sparse over dense launches are from measured ones. A speed-up r
/// is dense over sparse time of one shape.
struct SpeedupFigures {
  std::int64_t count = 0;
  double measured_geomean = 0;
  double simulated_geomean = 0;
  double mean_error_percent = 0;  ///< mean of |simulated r / measured r - 1|
  double constant_error_percent =
      0;  ///< the least that any one constant has in place of simulated r
  std::optional<double> log_correlation;  ///< of log r; nothing where one of both does not vary
  /// A loss is an r below 0.95. What was measured from 0.90 to 1.00 may be one by noise alone, and
  /// counts in none of the three.
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

/// Pairs launches that have MeasuredLaunch::gain_key() in common. Where rows repeat a launch its
/// time is their geometric mean. Nothing where no launch was measured both dense and sparse.
std::optional<SpeedupAccuracy> measure_speedups(std::span<const Comparison> rows);

}  // namespace sptc::compare::times
