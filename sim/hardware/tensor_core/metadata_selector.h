// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <deque>

namespace sptc::tensor_core {

/// Second stage: hands every multiplier one element of B, step by step. For a sparse instruction it
/// reads the metadata and picks, for each kept element of A, the element of B that it meets; dense
/// instructions pass straight through. Its output is `selector_bytes_per_cycle` wide.
class MetadataSelector : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<FetchedToken>> fetched_in{"fetched_in"};
  sc_core::sc_port<base::WireOut<SelectedToken>> selected_out{"selected_out"};

  MetadataSelector(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec);

  Activity activity() const {
    Activity result = activity_;
    result.selector_busy_cycles = output_.busy_cycles();
    return result;
  }

  /// Throws InternalError where the selector is too narrow for the pattern of `instruction`.
  void require_inputs(const mma::MmaInstruction& instruction) const;

  /// Cycle in which a step is handed on that is there from cycle `arrival` on, behind all that came
  /// before; without tokens.
  std::int64_t pass(const StepWork& work, std::int64_t arrival) {
    count(work, 1);
    return output_.start(arrival, work.operand_bytes);
  }

  /// `steps` have come by that nobody showed to the stage.
  void skipped(const StepWork& work, std::int64_t steps) {
    count(work, steps);
    output_.count(steps * work.operand_bytes);
  }
  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    visitor.unit(output_);
  }

 protected:
  void on_event() override;

 private:
  void count(const StepWork& work, std::int64_t steps) {
    activity_.selected_operands += steps * work.operands;
    activity_.selected_by_metadata += steps * work.by_metadata;
  }
  SelectedToken select_next_step();

  TensorCoreSpec spec_;
  base::Throughput output_;
  std::deque<FetchedToken> waiting_;
  int next_step_ = 0;
  Activity activity_;
};

}  // namespace sptc::tensor_core
