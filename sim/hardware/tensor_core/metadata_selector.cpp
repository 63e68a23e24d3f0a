// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/metadata_selector.h"

namespace sptc::tensor_core {

MetadataSelector::MetadataSelector(const sc_core::sc_module_name& name, const base::Clock& clock,
                                   const TensorCoreSpec& spec)
    : base::Module(name, clock), spec_(spec), output_(spec.selector_bytes_per_cycle) {
  run_on(fetched_in);
}

void MetadataSelector::on_event() {
  while (fetched_in->can_read()) {
    FetchedToken token = fetched_in->read();
    require_inputs(token.issue.context->instruction);
    waiting_.push_back(std::move(token));
  }
  while (!waiting_.empty()) {
    const std::int64_t ready = output_.ready_at(now());
    if (ready > now()) {
      wake_at(ready);
      return;
    }
    selected_out->write(select_next_step());
  }
}

void MetadataSelector::require_inputs(const mma::MmaInstruction& instruction) const {
  base::ensure(!instruction.sparse || instruction.sparse_pattern().candidates() <= spec_.selector_inputs,
               "the selector has too few inputs for this pattern");
}

SelectedToken MetadataSelector::select_next_step() {
  FetchedToken& source = waiting_.front();
  const mma::StepContext& context = *source.issue.context;
  SelectedToken token{source.issue, next_step_, nullptr, nullptr};
  if (source.payload) {
    token.payload = base::make_payload<mma::SelectedOperands>();
    mma::select_operands(context, *source.payload, next_step_, *token.payload);
    if (next_step_ == 0) {
      token.accumulator = base::make_payload<mma::Accumulators>();
      *token.accumulator = source.payload->c;
    }
  }
  const StepWork work = step_work(spec_, context);
  count(work, 1);
  output_.take(now(), work.operand_bytes);
  if (++next_step_ == context.steps) {
    waiting_.pop_front();
    next_step_ = 0;
  }
  return token;
}

}  // namespace sptc::tensor_core
