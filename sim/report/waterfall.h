// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>
#include <vector>

namespace sptc::report {

/// One cause that keeps the sparse network from its ideal time.
struct GainLoss {
  std::string cause;  ///< in words: "launches", "bound by L2", "clock"
  double us = 0;      ///< that it adds to the sparse time; negative where it saves
};

/// From the ideal gain of the pattern to the real one: `ideal_us` and all `losses` add up to the
/// sparse time of the network. The order of the causes is fixed: layers that stay dense, launches,
/// what bounds the sparse kernels beyond the ideal, the clock.
struct Waterfall {
  double dense_us = 0;
  double ideal_us = 0;  ///< the dense time over the ratio of the pattern
  std::vector<GainLoss> losses;
};

/// Empty losses where not both networks were simulated.
Waterfall waterfall_of(const run::RunResult& result);

}  // namespace sptc::report
