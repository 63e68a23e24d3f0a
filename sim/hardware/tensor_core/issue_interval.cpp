// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/issue_interval.h"

#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "models/mma/stages.h"
#include "models/mma/step_rules.h"
#include "sim/hardware/isa/warp_instruction.h"

#include <algorithm>

namespace sptc::tensor_core {

std::int64_t occupied_bytes(const TensorCoreSpec& spec, const mma::StepContext& context) {
  const mma::MmaInstruction& instruction = context.instruction;
  const int products = context.rules.products_per_step;
  if (context.rules.is_f64()) {
    const std::int64_t results = std::int64_t{instruction.shape.m} * instruction.shape.n;
    return results * products * spec.dot_units * spec.dot_width_bytes / spec.f64_multipliers;
  }
  const std::int64_t results = std::int64_t{std::max(instruction.shape.m, spec.rows_per_pass)} * instruction.shape.n;
  const std::int64_t a_bytes = std::int64_t{products} * context.operand_bits / 8;
  if (context.rules.is_integer()) {
    // Sums of integers are exact, so that a wide array takes several steps in one pass.
    return results * a_bytes * spec.dot_units / spec.units(instruction.accumulator, false);
  }
  // A step that is narrower than the dot units leaves the rest of them idle.
  const std::int64_t occupied = results * base::round_up(a_bytes, spec.dot_width_bytes);
  return occupied * spec.dot_units / spec.units(instruction.accumulator, instruction.scales.has_value());
}

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

int step_bytes(const mma::StepRules& rules, const mma::MmaInstruction& instruction) {
  const int bits = rules.lowered_fp8 ? 16 : numerics::storage_bits(instruction.a_type);
  return std::max(1, rules.products_per_step * bits / 8);
}

mma::StepContext timed_context(const TensorCoreSpec& spec, std::string_view numerics,
                               const mma::MmaInstruction& instruction) {
  const auto known = mma::find_step_rules(numerics, instruction);
  if (!known || known->is_integer() || known->is_f64()) {
    const int bits = numerics::storage_bits(instruction.a_type);
    const std::int64_t row_bytes = std::max(1, instruction.compressed_k() * bits / 8);
    const std::int64_t steps = base::ceil_div(row_bytes, spec.dot_width_bytes);
    return mma::StepContext::timing_only(instruction, static_cast<int>(base::ceil_div(row_bytes, steps)));
  }
  const mma::StepRules rules = mma::with_accumulator(*known, spec.accumulator_design(), instruction);
  mma::StepContext context = mma::StepContext::timing_only(instruction, step_bytes(rules, instruction));
  context.operand_bits = rules.lowered_fp8 ? 16 : context.operand_bits;
  return context;
}

double multiply_cycles(const TensorCoreSpec& spec, const mma::StepContext& context) {
  const double arithmetic = static_cast<double>(context.steps * occupied_bytes(spec, context)) /
                            static_cast<double>(std::int64_t{spec.dot_units} * spec.dot_width_bytes);
  return context.rules.is_integer() ? std::max(arithmetic, static_cast<double>(spec.integer_interval_cycles))
                                    : arithmetic;
}

double issue_interval(const TensorCoreSpec& spec, const mma::StepContext& context,
                      const isa::WarpInstruction& instruction, int metadata_wait) {
  const auto port_cycles = [](const isa::RegisterRange& range, double bytes_per_cycle) {
    return static_cast<double>(range.bytes()) / bytes_per_cycle;
  };
  return std::max({multiply_cycles(spec, context), port_cycles(instruction.a, spec.operand_a_port_bytes_per_cycle),
                   port_cycles(instruction.b, spec.operand_b_port_bytes_per_cycle),
                   port_cycles(instruction.c, spec.accumulator_port_bytes_per_cycle),
                   metadata_wait + port_cycles(instruction.metadata, spec.metadata_port_bytes_per_cycle)});
}

}  // namespace sptc::tensor_core
