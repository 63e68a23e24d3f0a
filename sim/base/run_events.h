// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <exception>
#include <utility>

namespace sptc::base {

/// What a process of a module threw last; null where none did.
inline std::exception_ptr& thrown_by_process() {
  static std::exception_ptr thrown;
  return thrown;
}

/// Runs sc_start(). What a process throws arrives here as it was thrown, not as SystemC's report of
/// it.
template <typename... Time>
void run_events(Time... time) {
  try {
    sc_core::sc_start(time...);
  } catch (const sc_core::sc_report&) {
    if (std::exception_ptr thrown = std::exchange(thrown_by_process(), nullptr)) {
      std::rethrow_exception(std::move(thrown));
    }
    throw;
  }
}

}  // namespace sptc::base
