// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <algorithm>
#include <utility>

namespace sptc::tensor_core {

/// Last stage: rounds each sum once. The result is the accumulator of the instruction's next step,
/// or, after the last step, D on its way to the register file.
class RoundWriteBackStage : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<SumsToken>> sums_in{"sums_in"};
  sc_core::sc_port<base::WireOut<FeedbackToken>> feedback_out{"feedback_out"};
  sc_core::sc_port<base::WireOut<MmaDoneToken>> done_out{"done_out"};

  RoundWriteBackStage(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec)
      : base::Module(name, clock),
        round_latency_(spec.round_latency_cycles),
        write_back_latency_(spec.write_back_latency_cycles) {
    run_on(sums_in);
  }

  /// Cycle in which D is complete, of an instruction whose last sums come in cycle `arrival` and
  /// that kept the multipliers for `occupied` cycles with its last step; without tokens.
  std::int64_t pass(std::int64_t occupied, std::int64_t arrival) {
    passed_ = std::max(passed_, arrival + to_result(occupied));
    return passed_;
  }
  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    visitor.cycle(passed_);
  }

 protected:
  void on_event() override {
    while (sums_in->can_read()) {
      const SumsToken sums = sums_in->read();
      base::Payload<mma::RoundedResults> results;
      if (sums.payload) {
        results = base::make_payload<mma::RoundedResults>();
        mma::round_sums(*sums.issue.context, *sums.payload, *results);
      }
      if (!sums.is_last()) {
        feedback_out->write({sums.issue.id, sums.step + 1, std::move(results)});
        continue;
      }
      done_out->write_after({sums.issue, std::move(results)}, to_result(sums.occupied_cycles));
    }
  }

 private:
  /// Cycles from the last sums to D: its first results are there after the latency of rounding, its
  /// last ones as many cycles later as the step kept the multipliers busy.
  std::int64_t to_result(std::int64_t occupied) const { return round_latency_ + occupied - 1 + write_back_latency_; }

  int round_latency_;
  int write_back_latency_;
  std::int64_t passed_ = 0;  ///< cycle of the latest pass()
};

}  // namespace sptc::tensor_core
