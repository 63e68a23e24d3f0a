// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <cmath>
#include <cstdint>

namespace sptc::sim {

/// A clock domain as a value. Blocks count whole cycles; time appears only here, where a period
/// multiplies them. The period is a whole number of picoseconds (SystemC's resolution); reported
/// times use the exact frequency.
class Clock {
 public:
  explicit Clock(double mhz)
      : mhz_(mhz), period_ps_(static_cast<std::uint64_t>(std::llround(1e6 / mhz))) {}

  double mhz() const { return mhz_; }

  sc_core::sc_time cycles(std::int64_t count) const {
    return sc_core::sc_time::from_value(static_cast<std::uint64_t>(count) * period_ps_);
  }

  /// Cycles since the start of the simulation.
  std::int64_t now() const {
    return static_cast<std::int64_t>(sc_core::sc_time_stamp().value() / period_ps_);
  }

 private:
  double mhz_;
  std::uint64_t period_ps_;
};

}  // namespace sptc::sim
