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
/// exponent of each result. Steps take the array in their order. A step that continues an
/// instruction needs the rounded accumulator of the step before only for the exponent: its products
/// wait for it behind the array.
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

  struct Passed {
    std::int64_t start = 0;     ///< cycle in which the multipliers take the step
    std::int64_t occupied = 0;  ///< cycles that the last step of an instruction keeps them
  };
  /// A step that is there from cycle `arrival` on, behind all that came before; without tokens.
  Passed pass(const mma::StepContext& context, int step, std::int64_t arrival);

 protected:
  void on_event() override;

 private:
  /// A step whose products are formed, or are being formed.
  struct Multiplied {
    SelectedToken token;
    std::int64_t occupied_cycles = 0;
  };

  void start_next();
  void occupy(const mma::StepContext& context, int step, std::int64_t cycle);
  bool has_accumulator(const SelectedToken& token) const;
  void send(Multiplied step);

  TensorCoreSpec spec_;
  Throughput dot_units_;         ///< in bytes of operand A
  std::int64_t step_bytes_ = 0;  ///< that a step of the present instruction takes of them
  std::deque<SelectedToken> waiting_;
  std::vector<Multiplied> multiplied_;   ///< wait for their accumulator
  std::vector<FeedbackToken> feedback_;  ///< accumulators whose step has not been sent on
  Statistics statistics_;
};

}  // namespace sptc::sim
