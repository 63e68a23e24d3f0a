// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sptc::base {

/// The one limiter behind every port and unit: `rate` items per cycle, which may be a fraction. A
/// request may start in the cycle in which the one before it ends; fractions of cycles carry over,
/// so 128 bytes at 20.6 bytes per cycle take 6.21 cycles on average and not 7.
class Throughput {
 public:
  explicit Throughput(double items_per_cycle) : rate_(std::llround(items_per_cycle * kScale)) {
    ensure(rate_ > 0, "a throughput must be positive");
  }

  /// First cycle, not before `now`, at which a request can start.
  std::int64_t ready_at(std::int64_t now) const { return next_free_ < (now + 1) * rate_ ? now : next_free_ / rate_; }

  bool ready(std::int64_t now) const { return ready_at(now) == now; }

  /// Occupies the unit for `items` from the first cycle on, not before `now`, in which a request
  /// can start; returns that cycle.
  std::int64_t start(std::int64_t now, std::int64_t items) {
    const std::int64_t cycle = ready_at(now);
    occupy(cycle, items);
    return cycle;
  }

  /// Occupies the unit for `items` from cycle `now` on; the caller has asked ready(now).
  void take(std::int64_t now, std::int64_t items) {
    ensure(ready(now), "a busy unit was used");
    occupy(now, items);
  }

  /// Queues `items` behind all that was taken or reserved before, from cycle `now` on at the
  /// earliest. Returns the cycle in which the last of them is through: the first one in which a
  /// request behind them could start, or later by less than a cycle.
  std::int64_t reserve(std::int64_t now, std::int64_t items) {
    occupy(now, items);
    return busy_until();
  }

  /// Work that is left behind `cycle`; a unit that has as much left there does the same from then
  /// on.
  std::int64_t left_behind(std::int64_t cycle) const { return std::max<std::int64_t>(0, next_free_ - cycle * rate_); }
  void set_left_behind(std::int64_t cycle, std::int64_t left) { next_free_ = cycle * rate_ + left; }
  std::int64_t cycles_of(std::int64_t left) const { return (left + rate_ - 1) / rate_; }
  /// `items` were let through that nobody showed to the unit.
  void count(std::int64_t items) { busy_ += items * kScale; }

  /// The first cycle in which a request would find nothing before it.
  std::int64_t busy_until() const { return (next_free_ + rate_ - 1) / rate_; }

  /// Cycles of work done so far.
  double busy_cycles() const { return static_cast<double>(busy_) / static_cast<double>(rate_); }

 private:
  static constexpr std::int64_t kScale = 1000;

  void occupy(std::int64_t cycle, std::int64_t items) {
    next_free_ = std::max(next_free_, cycle * rate_) + items * kScale;
    count(items);
  }

  std::int64_t rate_;           ///< items per kScale cycles
  std::int64_t next_free_ = 0;  ///< [cycles * rate]
  std::int64_t busy_ = 0;       ///< [cycles * rate]
};

}  // namespace sptc::base
