// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sptc::sim {

/// The one limiter behind every port and unit: `rate` items per cycle, which may be a fraction. A
/// request may start in the cycle in which the one before it ends; fractions of cycles carry over,
/// so 128 bytes at 20.6 bytes per cycle take 6.21 cycles on average and not 7.
class Throughput {
 public:
  explicit Throughput(double items_per_cycle) : rate_(std::llround(items_per_cycle * kScale)) {
    ensure(rate_ > 0, "a throughput must be positive");
  }

  /// First cycle, not before `now`, at which a request can start.
  std::int64_t ready_at(std::int64_t now) const {
    return next_free_ < (now + 1) * rate_ ? now : next_free_ / rate_;
  }

  bool ready(std::int64_t now) const { return ready_at(now) == now; }

  /// Occupies the unit for `items` from the first cycle on, not before `now`, in which a request
  /// can start; returns that cycle.
  std::int64_t start(std::int64_t now, std::int64_t items) {
    const std::int64_t cycle = ready_at(now);
    next_free_ = std::max(next_free_, cycle * rate_) + items * kScale;
    busy_ += items * kScale;
    return cycle;
  }

  /// Occupies the unit for `items` from cycle `now` on; the caller has asked ready(now).
  void take(std::int64_t now, std::int64_t items) {
    ensure(ready(now), "a busy unit was used");
    const std::int64_t start = now * rate_;
    next_free_ = (next_free_ > start ? next_free_ : start) + items * kScale;
    busy_ += items * kScale;
  }

  /// Queues `items` behind all that was taken or reserved before, from cycle `now` on at the
  /// earliest. Returns the cycle in which the last of them is through: the first one in which a
  /// request behind them could start, or later by less than a cycle.
  std::int64_t reserve(std::int64_t now, std::int64_t items) {
    const std::int64_t start = now * rate_;
    next_free_ = (next_free_ > start ? next_free_ : start) + items * kScale;
    busy_ += items * kScale;
    return (next_free_ + rate_ - 1) / rate_;
  }

  /// The same for `items` that arrived one by one in the last `cycles`: nobody saw when each
  /// passed, so that all are accounted for now. Since the call before this one the unit has either
  /// worked or been idle, so that idle = time since then - work done since then. In as much of that
  /// as lies within `cycles` it let items through as they came; the others queue.
  std::int64_t reserve_arrived(std::int64_t now, std::int64_t items, double cycles) {
    const std::int64_t time = now * rate_ - arrived_at_;
    const std::int64_t work = done_by(now * rate_) - done_then_;
    const std::int64_t idle = time - work;
    const auto meanwhile = std::llround(cycles * static_cast<double>(rate_));
    const std::int64_t through =
        std::clamp(std::min<std::int64_t>(idle, meanwhile), std::int64_t{0}, items * kScale);
    const std::int64_t rest = items * kScale - through;
    busy_ += items * kScale;
    if (rest > 0) {
      next_free_ = std::max(next_free_, now * rate_) + rest;
    }
    arrived_at_ = now * rate_;
    done_then_ = done_by(arrived_at_);
    return rest > 0 ? (next_free_ + rate_ - 1) / rate_ : now;
  }

  /// Work that is left behind `cycle`; a unit that has as much left there does the same from then
  /// on. Not of a unit that reserve_arrived() is asked of.
  std::int64_t left_behind(std::int64_t cycle) const {
    return std::max<std::int64_t>(0, next_free_ - cycle * rate_);
  }
  void set_left_behind(std::int64_t cycle, std::int64_t left) { next_free_ = cycle * rate_ + left; }
  /// Whole cycles that `left` takes.
  std::int64_t cycles_of(std::int64_t left) const { return (left + rate_ - 1) / rate_; }
  /// `items` were let through that nobody showed to the unit.
  void count(std::int64_t items) { busy_ += items * kScale; }

  /// Cycles of work done so far.
  double busy_cycles() const { return static_cast<double>(busy_) / static_cast<double>(rate_); }

 private:
  static constexpr std::int64_t kScale = 1000;

  /// Of all that was taken or reserved, what is through at `time`: all but the work that is left
  /// then. What reserve_arrived() let through in idle time counts here and leaves no work.
  std::int64_t done_by(std::int64_t time) const {
    return busy_ - std::max<std::int64_t>(0, next_free_ - time);
  }

  std::int64_t rate_;            ///< items per kScale cycles
  std::int64_t next_free_ = 0;   ///< [cycles * rate]
  std::int64_t busy_ = 0;        ///< [cycles * rate]
  std::int64_t arrived_at_ = 0;  ///< last call of reserve_arrived() [cycles * rate]
  std::int64_t done_then_ = 0;   ///< what was through then [cycles * rate]
};

}  // namespace sptc::sim
