// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <cmath>
#include <cstdint>

namespace sptc::base {

/// The clock of the SMs as a value. Blocks count whole cycles; time appears only here, where a
/// period multiplies them. The period is a whole number of picoseconds (SystemC's resolution);
/// reported times use the exact frequency.
class Clock {
 public:
  explicit Clock(double mhz) : mhz_(mhz), period_ps_(static_cast<std::uint64_t>(std::llround(1e6 / mhz))) {}

  double mhz() const { return mhz_; }

  sc_core::sc_time cycles(std::int64_t count) const {
    return sc_core::sc_time::from_value(static_cast<std::uint64_t>(count) * period_ps_);
  }

  /// The cycle that `time` is in.
  std::int64_t cycle_of(const sc_core::sc_time& time) const {
    return static_cast<std::int64_t>(time.value() / period_ps_);
  }
  /// The first cycle that begins at `time` or later.
  std::int64_t cycle_from(const sc_core::sc_time& time) const {
    return static_cast<std::int64_t>((time.value() + period_ps_ - 1) / period_ps_);
  }

  const sc_core::sc_time& time() const { return time_; }

  std::int64_t now() const {
    const std::uint64_t now_ps = time().value();
    if (now_ps != looked_up_ps_) {
      looked_up_ps_ = now_ps;
      cycle_ = static_cast<std::int64_t>(now_ps / period_ps_);
    }
    return cycle_;
  }

 private:
  double mhz_;
  std::uint64_t period_ps_;
  /// The time of the SystemC kernel: blocks ask several times in every cycle.
  const sc_core::sc_time& time_ = sc_core::sc_time_stamp();
  mutable std::uint64_t looked_up_ps_ = 0;  ///< time of the latest now(),
  mutable std::int64_t cycle_ = 0;          ///< and its answer
};

}  // namespace sptc::base
