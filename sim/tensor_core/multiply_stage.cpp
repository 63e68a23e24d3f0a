// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/multiply_stage.h"

#include "models/base/shape.h"

#include <algorithm>

namespace sptc::sim {

MultiplyStage::MultiplyStage(const sc_core::sc_module_name& name, const Clock& clock,
                             const TensorCoreSpec& spec)
    : Module(name, clock), spec_(spec), dot_units_(spec.dot_units * spec.dot_width_bytes) {
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
  const mma::MmaShape& shape = context.instruction.shape;
  dot_units_.take(now(), occupied_bytes(context, token.step));
  ++statistics_.steps;
  statistics_.macs += std::int64_t{shape.m} * shape.n * context.rules.products_per_step;

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

std::int64_t MultiplyStage::occupied_bytes(const mma::StepContext& context, int step) const {
  const mma::MmaInstruction& instruction = context.instruction;
  const std::int64_t results = std::int64_t{instruction.shape.m} * instruction.shape.n;
  const std::int64_t bytes_per_cycle = std::int64_t{spec_.dot_units} * spec_.dot_width_bytes;
  if (context.rules.is_f64()) {
    return results * context.rules.products_per_step * bytes_per_cycle / spec_.f64_multipliers;
  }
  const int bits = context.operand_bits;
  const std::int64_t a_bytes = std::int64_t{context.rules.products_per_step} * bits / 8;
  if (context.rules.is_integer()) {
    // Sums of integers are exact, so that a wide array takes several steps in one pass.
    const bool unpacks = bits < 8 && step == 0;
    return results * a_bytes + (unpacks ? spec_.sub_byte_extra_cycles * bytes_per_cycle : 0);
  }
  // A step that is narrower than the dot units leaves the rest of them idle.
  const std::int64_t occupied = results * round_up(a_bytes, spec_.dot_width_bytes);
  const bool to_f32 = instruction.accumulator == numerics::DataType::kF32;
  return to_f32 ? occupied * spec_.dot_units / std::min(spec_.dot_units, spec_.f32_dot_units)
                : occupied;
}

MultiplyStage::Statistics MultiplyStage::statistics() const {
  Statistics result = statistics_;
  result.busy_cycles = dot_units_.busy_cycles();
  return result;
}

}  // namespace sptc::sim
