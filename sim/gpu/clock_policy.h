// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/launch_conditions.h"

#include <fmt/format.h>

#include <string>

namespace sptc::gpu {

/// How the duration of a launch follows the clock of the SMs: as its closed form does, where DRAM
/// and latencies keep their own time.
struct ClockScaling {
  kernels::KernelEstimate form;
  double boost_clock_mhz = 0;

  /// Time in the SMs at clock `to_mhz` over that at `from_mhz`.
  double stretch(double from_mhz, double to_mhz) const {
    const auto in_sms_us = [&](double mhz) { return form.time_us(mhz / boost_clock_mhz) - form.outside_us(); };
    return in_sms_us(to_mhz) / in_sms_us(from_mhz);
  }
};

/// Which clock the SMs run at: that of the architecture's boost, or a locked application clock.
struct ClockPolicy {
  double fixed_mhz = 0;  ///< 0: boost

  static ClockPolicy fixed(double mhz) { return {mhz}; }
  /// The clock of a launch under `conditions`, which may name one.
  double mhz_of(const kernels::LaunchConditions& conditions, double boost_clock_mhz) const {
    return conditions.clock_mhz > 0 ? conditions.clock_mhz : fixed_mhz > 0 ? fixed_mhz : boost_clock_mhz;
  }
  /// "boost" or "1200 MHz".
  std::string name() const { return fixed_mhz > 0 ? fmt::format("{} MHz", fixed_mhz) : "boost"; }
};

}  // namespace sptc::gpu
