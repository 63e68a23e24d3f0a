// SPDX-License-Identifier: Apache-2.0
//
// What reports sum up over the operations of a network.
#pragma once

#include "sim/run/run_result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::report {

/// The launches of a recording that were measured and simulated as they were measured.
struct MeasuredTotals {
  std::int64_t launches = 0;
  double measured_us = 0;
  double simulated_us = 0;  ///< of the same launches
};
MeasuredTotals measured_totals(const std::vector<run::OperationResult>& operations);

/// The launches of one operation, one after the other.
struct PowerInterval {
  std::size_t operation = 0;  ///< place in RunResult::operations
  double from_us = 0;
  double to_us = 0;
  double power_w = 0;       ///< average
  double peak_power_w = 0;  ///< while the tensor cores are fed
  double clock_mhz = 0;
};

/// Power over time of the network: its operations in order, each with all its launches at once, no time between them.
/// Sparse: OperationResult::in_network(). Empty where an energy is not known.
std::vector<PowerInterval> power_over_time(const std::vector<run::OperationResult>& operations, bool sparse);

/// One cause that keeps the sparse network from its ideal time.
struct GainLoss {
  std::string cause;  ///< in words: "launches", "bound by L2", "clock"
  double us = 0;      ///< that it adds to the sparse time; negative where it saves
};

/// Steps from the ideal gain of the pattern to the real one: `ideal_us` and all `losses` add up to the sparse time of
/// the network. The order of the causes is fixed: layers that stay dense, launches, what bounds the sparse kernels
/// beyond the ideal, the clock.
struct Waterfall {
  double dense_us = 0;
  double ideal_us = 0;  ///< the dense time over the ratio of the pattern
  std::vector<GainLoss> losses;
};

/// Empty losses where not both networks were simulated.
Waterfall waterfall_of(const run::RunResult& result);

}  // namespace sptc::report
