// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/clock.h"
#include "sim/base/run_events.h"

#include <systemc>

#include <cstdint>

namespace sptc::base {

/// Base of every block: the clock and one process, on_event(), that runs when an input arrives
/// or when the block asked to be woken.
class Module : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Module);

  Module(const sc_core::sc_module_name& name, const Clock& clock) : sc_core::sc_module(name), clock_(clock) {}

 protected:
  virtual void on_event() = 0;

  /// Declares on_event() as the block's process, sensitive to its wake-ups and to `inputs` (ports
  /// bound to wires).
  template <typename... Inputs>
  void run_on(Inputs&... inputs) {
    SC_METHOD(run);
    dont_initialize();
    sensitive << wake_;
    (void)(sensitive << ... << inputs);
  }

  std::int64_t now() const { return clock_.now(); }

  /// Runs on_event() at `cycle`, unless an earlier wake-up is pending.
  void wake_at(std::int64_t cycle) { wake_.notify(clock_.cycles(cycle) - clock_.time()); }

  const Clock& clock() const { return clock_; }

 private:
  void run() {
    try {
      on_event();
    } catch (...) {
      thrown_by_process() = std::current_exception();
      throw;
    }
  }

  const Clock& clock_;
  sc_core::sc_event wake_;
};

}  // namespace sptc::base
