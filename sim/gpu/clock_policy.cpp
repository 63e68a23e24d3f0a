// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/clock_policy.h"

#include <fmt/format.h>

namespace sptc::gpu {

std::string ClockPolicy::name() const {
  return fixed_mhz > 0 ? fmt::format("{} MHz", fixed_mhz) : "boost";
}

}  // namespace sptc::gpu
