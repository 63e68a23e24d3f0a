// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/multiply_stage.h"

#include <algorithm>

namespace sptc::tensor_core {

MultiplyStage::MultiplyStage(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec)
    : base::Module(name, clock), spec_(spec), dot_units_(spec.dot_units * spec.dot_width_bytes) {
  run_on(selected_in, feedback_in);
}

void MultiplyStage::on_event() {
  while (selected_in->can_read()) {
    waiting_.push_back(selected_in->read());
  }
  while (feedback_in->can_read()) {
    feedback_.push_back(feedback_in->read());
  }
  while (!waiting_.empty() && dot_units_.ready(now())) {
    start_next();
  }
  for (std::size_t i = 0; i < multiplied_.size();) {
    if (!has_accumulator(multiplied_[i].token)) {
      ++i;
      continue;
    }
    Multiplied step = std::move(multiplied_[i]);
    multiplied_.erase(multiplied_.begin() + static_cast<std::ptrdiff_t>(i));
    send(std::move(step));
  }
  if (!waiting_.empty()) {
    wake_at(dot_units_.ready_at(now()));
  }
}

void MultiplyStage::start_next() {
  SelectedToken token = std::move(waiting_.front());
  waiting_.pop_front();
  const StepWork work = step_work(spec_, *token.issue.context);
  count(work, 1);
  dot_units_.take(now(), array_bytes(work, token.step));
  const std::int64_t occupied_cycles = occupied_since(work, token.step, now());
  multiplied_.push_back({std::move(token), occupied_cycles});
}

bool MultiplyStage::has_accumulator(const SelectedToken& token) const {
  return token.step == 0 || std::any_of(feedback_.begin(), feedback_.end(), [&](const FeedbackToken& feedback) {
           return feedback.id == token.issue.id && feedback.next_step == token.step;
         });
}

void MultiplyStage::send(Multiplied step) {
  SelectedToken& token = step.token;
  const mma::StepContext& context = *token.issue.context;
  if (token.step > 0) {
    const auto feedback = std::find_if(feedback_.begin(), feedback_.end(),
                                       [&](const FeedbackToken& f) { return f.id == token.issue.id; });
    if (feedback->payload) {
      token.accumulator = base::make_payload<mma::Accumulators>();
      mma::decode_accumulators(context, *feedback->payload, *token.accumulator);
    }
    feedback_.erase(feedback);
  }
  ProductsToken products{token.issue, token.step, step.occupied_cycles, nullptr};
  if (token.payload) {
    products.payload = base::make_payload<mma::Products>();
    mma::multiply(context, *token.payload, *token.accumulator, *products.payload);
  }
  products_out->write(std::move(products));
  if (token.is_last()) {
    credit_out->write({});
  }
}

}  // namespace sptc::tensor_core
