// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/step_work.h"

#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "models/mma/stages.h"
#include "sim/hardware/tensor_core/issue_interval.h"

#include <algorithm>

namespace sptc::tensor_core {

StepWork step_work(const TensorCoreSpec& spec, const mma::StepContext& context) {
  const mma::MmaInstruction& instruction = context.instruction;
  StepWork work;
  work.steps = context.steps;
  work.operands = std::int64_t{instruction.shape.m} * instruction.shape.n * context.rules.products_per_step;
  work.by_metadata = instruction.sparse ? work.operands : 0;
  work.operand_bytes = work.operands * context.operand_bits / 8;
  work.array_bytes = occupied_bytes(spec, context);
  work.holding_back = spec.dot_units / spec.units(instruction.accumulator, instruction.scales.has_value());
  // Elements below a byte are taken apart on their way through the array.
  const std::int64_t extra_cycles = context.operand_bits < 8 ? spec.sub_byte_extra_cycles : 0;
  const std::int64_t bytes_per_cycle = std::int64_t{spec.dot_units} * spec.dot_width_bytes;
  if (context.rules.is_integer()) {
    const std::int64_t cycles = base::ceil_div(work.steps * work.array_bytes, bytes_per_cycle);
    work.idle_cycles_of_last = std::max<std::int64_t>(0, spec.integer_interval_cycles - cycles);
  }
  work.extra_bytes_of_last = (extra_cycles + work.idle_cycles_of_last) * bytes_per_cycle;
  return work;
}

}  // namespace sptc::tensor_core
