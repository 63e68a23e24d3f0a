// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/measurements.h"
#include "sim/compare/times/prediction.h"

namespace sptc::compare::times {

/// One measurement beside its simulation.
struct Comparison {
  Measurement measured;
  Prediction simulated;
  std::optional<Prediction> recorded = std::nullopt;  ///< with the kernel that the row names

  /// Signed: (simulated - measured) / measured.
  double error() const { return simulated.time_us / measured.time_us - 1; }
};

}  // namespace sptc::compare::times
