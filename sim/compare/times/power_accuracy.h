// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/comparison.h"

#include <cstdint>
#include <optional>
#include <span>

namespace sptc::compare::times {

/// How far simulated watts and joules are from measured ones. At the cap the watts are those of the
/// limit, and only the energy of an operation tells: measured watts times measured time, simulated
/// joules, each over 2 m n k.
struct PowerAccuracy {
  std::int64_t count = 0;   ///< rows with steady measured and simulated watts
  double mape_percent = 0;  ///< of the watts
  double bias_percent = 0;
  /// Rows measured at 97 % of their power limit or more, with m n k / (m k + k n + m n) above 800.
  std::int64_t at_cap_count = 0;
  std::optional<double> energy_per_flop_error_percent;  ///< of these, the mean absolute one
  std::optional<double> energy_per_flop_median_ratio;   ///< of these, simulated over measured
};

/// Whether the watts of a row are those of its launches: NVML averages power over up to a second,
/// and the pause before is part of that where the launches of a row are done sooner.
bool has_steady_power(const Measurement& row);

/// Of the rows with steady power. Nothing where no such row has both watts.
std::optional<PowerAccuracy> measure_power(std::span<const Comparison> rows);

}  // namespace sptc::compare::times
