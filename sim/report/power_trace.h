// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <cstddef>
#include <vector>

namespace sptc::report {

/// The launches of one operation, one after the other.
struct PowerInterval {
  std::size_t operation = 0;  ///< place in RunResult::operations
  double from_us = 0;
  double to_us = 0;
  double power_w = 0;       ///< average
  double peak_power_w = 0;  ///< while the tensor cores are fed
  double clock_mhz = 0;
};

/// Power over time of the network: its operations in order, each with all its launches at once, no
/// time between them. Sparse: OperationResult::in_sparse_network(). Empty where an energy
/// is not known.
std::vector<PowerInterval> power_over_time(const std::vector<run::OperationResult>& operations,
                                           bool sparse);

}  // namespace sptc::report
