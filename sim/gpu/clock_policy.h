// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/kernel_estimate.h"

#include <string>

namespace sptc::sim {

struct GpuSpec;

/// How the duration of a launch follows the clock of the SMs: as its closed form does, where DRAM
/// and latencies keep their own time.
struct ClockScaling {
  KernelEstimate form;
  double boost_clock_mhz = 0;

  /// Time in the SMs at clock `to_mhz` over that at `from_mhz`.
  double stretch(double from_mhz, double to_mhz) const {
    const auto in_sms_us = [&](double mhz) {
      return form.time_us(mhz / boost_clock_mhz) - form.outside_us();
    };
    return in_sms_us(to_mhz) / in_sms_us(from_mhz);
  }
};

/// Which clock the SMs run at.
struct ClockPolicy {
  enum class Kind {
    kBoost,      ///< the boost clock of the architecture, whatever the load
    kFixed,      ///< `mhz`, as a locked application clock
    kSustained,  ///< falls with the load: see sustained_clock_ratio()
  };
  Kind kind = Kind::kBoost;
  double mhz = 0;  ///< kFixed

  static ClockPolicy fixed(double mhz) { return {Kind::kFixed, mhz}; }
  static ClockPolicy sustained() { return {Kind::kSustained, 0}; }
  /// "boost", "sustained" or "1200 MHz".
  std::string name() const;
};

/// The clock that `policy` gives a launch with this estimate.
double clock_mhz(const ClockPolicy& policy, const KernelEstimate& estimate, const GpuSpec& gpu);

}  // namespace sptc::sim
