// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/step_work.h"

#include "models/mma/instruction.h"
#include "models/mma/stages.h"
#include "sim/hardware/tensor_core/issue_interval.h"

namespace sptc::tensor_core {

StepWork step_work(const TensorCoreSpec& spec, const mma::StepContext& context) {
  const mma::MmaInstruction& instruction = context.instruction;
  StepWork work;
  work.steps = context.steps;
  work.operands =
      std::int64_t{instruction.shape.m} * instruction.shape.n * context.rules.products_per_step;
  work.by_metadata = instruction.sparse ? work.operands : 0;
  work.operand_bytes = work.operands * context.operand_bits / 8;
  work.array_bytes = occupied_bytes(spec, context);
  work.holding_back =
      spec.dot_units / spec.units(instruction.accumulator, instruction.scales.has_value());
  // Elements below a byte are taken apart on their way through the array.
  const std::int64_t extra_cycles = context.operand_bits < 8 ? spec.sub_byte_extra_cycles : 0;
  work.extra_bytes_of_last = extra_cycles * spec.dot_units * spec.dot_width_bytes;
  return work;
}

}  // namespace sptc::tensor_core
