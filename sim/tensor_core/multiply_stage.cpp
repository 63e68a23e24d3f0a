// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/multiply_stage.h"

#include "models/base/shape.h"

#include <algorithm>

namespace sptc::sim {

MultiplyStage::MultiplyStage(const sc_core::sc_module_name& name, const Clock& clock,
                             const TensorCoreSpec& spec)
    : Module(name, clock), dot_width_bytes_(spec.dot_width_bytes), dot_units_(spec.dot_units) {
  run_on(selected_in, feedback_in);
}

void MultiplyStage::on_event() {
  while (selected_in->can_read()) {
    waiting_.push_back(selected_in->read());
  }
  while (feedback_in->can_read()) {
    feedback_.push_back(feedback_in->read());
  }
  for (int index = oldest_ready(); index >= 0; index = oldest_ready()) {
    const std::int64_t ready = dot_units_.ready_at(now());
    if (ready > now()) {
      wake_at(ready);
      return;
    }
    start(static_cast<std::size_t>(index));
  }
}

int MultiplyStage::oldest_ready() const {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const SelectedToken& token = waiting_[i];
    const auto belongs = [&](const FeedbackToken& feedback) {
      return feedback.id == token.issue.id && feedback.next_step == token.step;
    };
    if (token.step == 0 || std::any_of(feedback_.begin(), feedback_.end(), belongs)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void MultiplyStage::start(std::size_t index) {
  SelectedToken token = std::move(waiting_[index]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  if (token.step > 0) {
    const auto feedback =
        std::find_if(feedback_.begin(), feedback_.end(),
                     [&](const FeedbackToken& f) { return f.id == token.issue.id; });
    if (feedback->payload) {
      token.accumulator = make_payload<mma::Accumulators>();
      mma::decode_accumulators(*token.issue.context, *feedback->payload, *token.accumulator);
    }
    feedback_.erase(feedback);
  }

  const mma::StepContext& context = *token.issue.context;
  const int width = context.rules.products_per_step;
  const std::int64_t a_bytes =
      std::int64_t{width} * numerics::storage_bits(context.instruction.a_type) / 8;
  const std::int64_t dot_products =
      std::int64_t{mma::kRows} * mma::kCols * ceil_div(a_bytes, dot_width_bytes_);
  dot_units_.take(now(), dot_products);
  ++statistics_.steps;
  statistics_.macs += std::int64_t{mma::kRows} * mma::kCols * width;

  ProductsToken products{token.issue, token.step, dot_units_.ready_at(now()) - now(), nullptr};
  if (token.payload) {
    products.payload = make_payload<mma::Products>();
    mma::multiply(context, *token.payload, *token.accumulator, *products.payload);
  }
  products_out->write(std::move(products));
  if (token.is_last()) {
    credit_out->write({});
  }
}

MultiplyStage::Statistics MultiplyStage::statistics() const {
  Statistics result = statistics_;
  result.busy_cycles = dot_units_.busy_cycles();
  return result;
}

}  // namespace sptc::sim
