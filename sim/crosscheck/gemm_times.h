// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/crosscheck/capture.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {

/// Simulated time of one row of gemm.json.
struct GemmTime {
  std::optional<double> time_us;
  std::string reason;  ///< why there is none
};

/// The time of every row on `architecture`, at the clock that the row was measured at, else at the
/// boost clock. Runs in a process of its own, because SystemC elaborates once per process and a
/// capture needs the SM of the microbenchmarks too: call it before threads are started.
std::vector<GemmTime> simulate_gemm_times(const Architecture& architecture,
                                          const std::vector<CaptureGemmRow>& rows);

}  // namespace sptc::sim
