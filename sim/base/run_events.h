// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace sptc::base {

/// What a process of a module threw last; null where none did.
inline std::exception_ptr& thrown_by_process() {
  static std::exception_ptr thrown;
  return thrown;
}

/// sc_start(). What a process throws arrives here as it was thrown, not as SystemC's report of it,
/// and a stack that does not fit in memory as std::bad_alloc.
template <typename... Time>
void run_events(Time... time) {
  try {
    sc_core::sc_start(time...);
  } catch (const sc_core::sc_report& report) {
    if (std::string_view(report.get_msg_type()) == sc_core::SC_ID_STACK_SETUP_FAILED_) {
      throw std::bad_alloc();
    }
    if (std::exception_ptr thrown = std::exchange(thrown_by_process(), nullptr)) {
      std::rethrow_exception(std::move(thrown));
    }
    throw;
  }
}

}  // namespace sptc::base
