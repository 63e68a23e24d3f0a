// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/base/clock.h"

#include <boost/circular_buffer.hpp>
#include <systemc>

#include <cstdint>
#include <functional>
#include <utility>

namespace sptc::base {

template <typename T>
class WireIn : virtual public sc_core::sc_interface {
 public:
  virtual bool can_read() const = 0;
  /// What read() would return.
  virtual const T& peek() const = 0;
  virtual T read() = 0;
};

template <typename T>
class WireOut : virtual public sc_core::sc_interface {
 public:
  virtual void write(T value) = 0;
  virtual void write_after(T value, std::int64_t latency_cycles) = 0;
};

/// A pipelined connection between two blocks: what is written becomes readable `latency` cycles
/// later, in order. The latency is at least one cycle, so nobody sees in a cycle what another block
/// writes in the same cycle, and the order in which blocks are evaluated cannot matter. A wire
/// never refuses: flow control is by credits on a wire back.
template <typename T>
class Wire : public sc_core::sc_object, public WireIn<T>, public WireOut<T> {
 public:
  Wire(const char* name, const Clock& clock, int latency_cycles)
      : sc_core::sc_object(name), clock_(clock), latency_(latency_cycles) {
    ensure(latency_cycles >= 1, "a wire needs a latency of at least one cycle");
  }

  void write(T value) override { write_after(std::move(value), latency_); }

  /// Writes with a latency of its own; a value never overtakes the one before it.
  void write_after(T value, std::int64_t latency_cycles) override {
    ensure(latency_cycles >= 1, "a value on a wire takes at least one cycle");
    if (tap_) {
      tap_(value);
    }
    std::int64_t due = clock_.now() + latency_cycles;
    if (!in_flight_.empty() && in_flight_.back().first > due) {
      due = in_flight_.back().first;
    }
    if (in_flight_.full()) {
      in_flight_.set_capacity(2 * in_flight_.capacity());
    }
    in_flight_.push_back({due, std::move(value)});
    if (in_flight_.size() == 1) {
      readable_.notify(clock_.cycles(latency_cycles));
    }
  }

  bool can_read() const override { return !in_flight_.empty() && in_flight_.front().first <= clock_.now(); }

  const T& peek() const override {
    ensure(can_read(), "nothing to read on a wire");
    return in_flight_.front().second;
  }

  T read() override {
    ensure(can_read(), "nothing to read on a wire");
    T value = std::move(in_flight_.front().second);
    in_flight_.pop_front();
    if (!in_flight_.empty() && in_flight_.front().first > clock_.now()) {
      readable_.notify(clock_.cycles(in_flight_.front().first - clock_.now()));
    }
    return value;
  }

  const sc_core::sc_event& default_event() const override { return readable_; }

  /// Cycles from write() to can_read().
  int latency() const { return latency_; }

  /// Calls `tap` with every value at the moment it is written. For waveforms, and for tests that
  /// corrupt a wire.
  void set_tap(std::function<void(T&)> tap) { tap_ = std::move(tap); }
  /// Calls `tap` too, after the taps that are there.
  void add_tap(std::function<void(T&)> tap) {
    if (!tap_) {
      tap_ = std::move(tap);
      return;
    }
    tap_ = [first = std::move(tap_), next = std::move(tap)](T& value) {
      first(value);
      next(value);
    };
  }
  bool tapped() const { return tap_ != nullptr; }

 private:
  const Clock& clock_;
  int latency_;
  boost::circular_buffer<std::pair<std::int64_t, T>> in_flight_{2};  ///< with the cycle it is due
  sc_core::sc_event readable_;
  std::function<void(T&)> tap_;
};

/// Puts `wire` between the ports of two blocks; the cycles that a value is under way between them.
template <typename T>
int connect(sc_core::sc_port<WireOut<T>>& from, Wire<T>& wire, sc_core::sc_port<WireIn<T>>& to) {
  from(wire);
  to(wire);
  return wire.latency();
}

}  // namespace sptc::base
