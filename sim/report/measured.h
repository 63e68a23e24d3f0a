// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

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

/// Measured beside simulated times, per launch and in all; empty where nothing was measured.
std::string measured_text(const std::vector<run::OperationResult>& operations);

}  // namespace sptc::report
