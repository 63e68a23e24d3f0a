// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/tensor_core/tensor_core_spec.h"
#include "sim/tensor_core/tokens.h"

namespace sptc::sim {

/// Last stage: rounds each sum once. The result is the accumulator of the instruction's next step,
/// or, after the last step, D on its way to the register file.
class RoundWriteBackStage : public Module {
 public:
  struct Statistics {
    std::int64_t instructions = 0;  ///< completed
  };

  sc_core::sc_port<WireIn<SumsToken>> sums_in{"sums_in"};
  sc_core::sc_port<WireOut<FeedbackToken>> feedback_out{"feedback_out"};
  sc_core::sc_port<WireOut<MmaDoneToken>> done_out{"done_out"};

  RoundWriteBackStage(const sc_core::sc_module_name& name, const Clock& clock,
                      const TensorCoreSpec& spec);

  const Statistics& statistics() const { return statistics_; }

 protected:
  void on_event() override;

 private:
  int round_latency_;
  int write_back_latency_;
  Statistics statistics_;
};

}  // namespace sptc::sim
