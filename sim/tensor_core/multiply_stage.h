// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/tensor_core/tensor_core_spec.h"
#include "sim/tensor_core/tokens.h"

#include <deque>
#include <vector>

namespace sptc::sim {

/// Third stage: the multiplier array. It forms the exact products of one step and finds the largest
/// exponent of each result. A step that continues an instruction needs the rounded accumulator of
/// the step before, so steps of several instructions wait here and the oldest one that has its
/// accumulator goes first.
class MultiplyStage : public Module {
 public:
  struct Statistics {
    std::int64_t steps = 0;
    std::int64_t macs = 0;  ///< executed
    double busy_cycles = 0;
  };

  sc_core::sc_port<WireIn<SelectedToken>> selected_in{"selected_in"};
  sc_core::sc_port<WireIn<FeedbackToken>> feedback_in{"feedback_in"};
  sc_core::sc_port<WireOut<ProductsToken>> products_out{"products_out"};
  sc_core::sc_port<WireOut<CreditToken>> credit_out{"credit_out"};

  MultiplyStage(const sc_core::sc_module_name& name, const Clock& clock,
                const TensorCoreSpec& spec);

  Statistics statistics() const;

 protected:
  void on_event() override;

 private:
  /// Index in waiting_ of the oldest step whose accumulator is there; -1: none.
  int oldest_ready() const;
  void start(std::size_t index);
  /// Bytes of operand A that the array could have taken while it worked on one step.
  std::int64_t occupied_bytes(const mma::StepContext& context, int step) const;

  TensorCoreSpec spec_;
  Throughput dot_units_;  ///< in bytes of operand A
  std::deque<SelectedToken> waiting_;
  std::vector<FeedbackToken> feedback_;  ///< accumulators whose step has not started
  Statistics statistics_;
};

}  // namespace sptc::sim
