// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/sm_spec.h"

#include <string>

namespace sptc::sim {

/// A whole GPU as an architecture file describes it.
struct GpuSpec {
  std::string name;
  std::string numerics;  ///< row set of models/mma/step_rules: "ampere"
  int sms = 0;
  double boost_clock_mhz = 0;
  SmSpec sm;
};

}  // namespace sptc::sim
