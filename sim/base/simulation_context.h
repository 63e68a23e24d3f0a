// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <utility>

namespace sptc::base {

/// A SystemC simulation of its own, beside whatever else this process elaborates. IEEE 1666 allows
/// one elaboration per process. The library of Accellera (2.3) keeps its state in the sc_simcontext
/// that `sc_curr_simcontext` names, a public variable, so each simulation gets one and gives it
/// back. The variable belongs to the process: threads must take turns.
class SimulationContext {
 public:
  SimulationContext() {
    delete std::exchange(retired(), nullptr);
    // Whether the first sc_start() may find nothing to do is asked once per process, not context.
    sc_core::sc_report_handler::set_actions(sc_core::SC_ID_NO_SC_START_ACTIVITY_, sc_core::SC_DO_NOTHING);
    const Current inside(*this);
    context_ = sc_core::sc_get_curr_simcontext();
  }
  /// What was built in it must be gone. The state is freed when the next context begins: SystemC
  /// takes long to free many processes, and a program that needs one context need not wait for
  /// that.
  ~SimulationContext() { delete std::exchange(retired(), context_); }
  SimulationContext(const SimulationContext&) = delete;
  SimulationContext& operator=(const SimulationContext&) = delete;

  /// While one lives, what is built, run and destroyed belongs to the context.
  class Current {
   public:
    explicit Current(SimulationContext& context)
        : outside_(std::exchange(sc_core::sc_curr_simcontext, context.context_)),
          default_outside_(sc_core::sc_default_global_context) {}
    ~Current() {
      sc_core::sc_curr_simcontext = outside_;
      sc_core::sc_default_global_context = default_outside_;
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    sc_core::sc_simcontext* outside_;
    sc_core::sc_simcontext* default_outside_;
  };

 private:
  static sc_core::sc_simcontext*& retired() {
    static sc_core::sc_simcontext* context = nullptr;
    return context;
  }

  sc_core::sc_simcontext* context_ = nullptr;
};

}  // namespace sptc::base
