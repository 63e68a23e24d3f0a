// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <deque>
#include <vector>

namespace sptc::tensor_core {

/// Third stage: the multiplier array. It forms the exact products of one step and finds the largest
/// exponent of each result. Steps take the array in their order. A step that continues an
/// instruction needs the rounded accumulator of the step before only for the exponent: its products
/// wait for it behind the array.
class MultiplyStage : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<SelectedToken>> selected_in{"selected_in"};
  sc_core::sc_port<base::WireIn<FeedbackToken>> feedback_in{"feedback_in"};
  sc_core::sc_port<base::WireOut<ProductsToken>> products_out{"products_out"};
  sc_core::sc_port<base::WireOut<CreditToken>> credit_out{"credit_out"};

  MultiplyStage(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec);

  Activity activity() const {
    Activity result = activity_;
    result.multiplier_busy_cycles = dot_units_.busy_cycles();
    return result;
  }

  /// Cycle in which the multipliers take a step that is there from cycle `arrival` on, behind all
  /// that came before; without tokens.
  std::int64_t pass(const StepWork& work, int step, std::int64_t arrival) {
    count(work, 1);
    return dot_units_.start(arrival, array_bytes(work, step));
  }
  /// Cycles that the arithmetic of the latest step, `step`, takes, which they took in cycle
  /// `start`.
  std::int64_t occupied_since(const StepWork& work, int step, std::int64_t start) const {
    const std::int64_t idle = step + 1 == work.steps ? work.idle_cycles_of_last : 0;
    return base::ceil_div(dot_units_.ready_at(start) - start - idle, work.holding_back);
  }
  /// `instructions` have come by that nobody showed to the stage.
  void skipped(const StepWork& work, std::int64_t instructions) {
    count(work, instructions * work.steps);
    dot_units_.count(instructions * (work.steps * work.array_bytes + work.extra_bytes_of_last));
  }
  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    visitor.unit(dot_units_);
  }

 protected:
  void on_event() override;

 private:
  /// A step whose products are formed, or are being formed.
  struct Multiplied {
    SelectedToken token;
    std::int64_t occupied_cycles = 0;
  };

  void start_next();
  void count(const StepWork& work, std::int64_t steps) { activity_.executed_macs += steps * work.operands; }
  static std::int64_t array_bytes(const StepWork& work, int step) {
    return work.array_bytes + (step + 1 == work.steps ? work.extra_bytes_of_last : 0);
  }
  bool has_accumulator(const SelectedToken& token) const;
  void send(Multiplied step);

  TensorCoreSpec spec_;
  base::Throughput dot_units_;  ///< in bytes of operand A
  std::deque<SelectedToken> waiting_;
  std::vector<Multiplied> multiplied_;   ///< wait for their accumulator
  std::vector<FeedbackToken> feedback_;  ///< accumulators whose step has not been sent on
  Activity activity_;
};

}  // namespace sptc::tensor_core
