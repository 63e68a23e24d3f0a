// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/clock_policy.h"

#include "sim/kernels/launch_conditions.h"

#include <fmt/format.h>

#include <string>

namespace sptc::gpu {

double ClockPolicy::mhz_of(const kernels::LaunchConditions& conditions,
                           double boost_clock_mhz) const {
  return conditions.clock_mhz > 0 ? conditions.clock_mhz
         : fixed_mhz > 0          ? fixed_mhz
                                  : boost_clock_mhz;
}

std::string ClockPolicy::name() const {
  return fixed_mhz > 0 ? fmt::format("{} MHz", fixed_mhz) : "boost";
}

}  // namespace sptc::gpu
