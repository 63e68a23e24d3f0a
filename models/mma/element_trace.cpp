// SPDX-License-Identifier: Apache-2.0
#include "models/mma/element_trace.h"

#include "models/base/error.h"
#include "models/mma/lowered_fp8.h"
#include "models/numerics/codec.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

Addend exact_addend(std::int64_t value) {
  return {value < 0, static_cast<std::uint64_t>(std::abs(value)), 0, 0, value};
}

ElementStep integer_step(std::span<const Word> a, std::span<const Word> b, Word c, const MmaInstruction& instruction) {
  ElementStep step;
  step.kind = StepKind::kExact;
  step.accumulator = c;
  for (std::size_t k = 0; k < a.size(); ++k) {
    step.addends.push_back(
        exact_addend(numerics::to_integer(a[k], instruction.a_type) * numerics::to_integer(b[k], instruction.b_type)));
  }
  step.addends.push_back(exact_addend(numerics::to_integer(c, DataType::kS32)));
  for (const Addend& addend : step.addends) {
    step.trace.sum += addend.aligned;
  }
  step.trace.result = integer_dot(a, b, c, instruction);
  return step;
}

ElementStep aligned_step(std::span<const Word> a, std::span<const Word> b, Word c, const MmaInstruction& instruction,
                         const StepRules& rules) {
  ElementStep step;
  step.accumulator = c;
  step.trace = trace_step(a, b, c, instruction, rules, 0, &step.addends);
  return step;
}

std::vector<ElementStep> lowered_steps(std::span<const Word> a, std::span<const Word> b, Word c,
                                       const MmaInstruction& instruction, const StepRules& rules) {
  std::vector<ElementStep> steps;
  const MmaInstruction as_f16 = lowered_instruction(instruction);
  const std::size_t depth = 2 * static_cast<std::size_t>(rules.products_per_step);
  for (std::size_t k = 0; k < a.size(); k += depth) {
    const std::size_t count = std::min(depth, a.size() - k);
    Word partial = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      LoweredHalf products = lowered_half(a.subspan(k, count), b.subspan(k, count), half, instruction);
      ElementStep step = aligned_step(products.a, products.b, partial, as_f16, rules);
      step.positions = std::move(products.positions);
      for (std::size_t& position : step.positions) {
        position += k;
      }
      partial = step.trace.result;
      steps.push_back(std::move(step));
    }
    ElementStep addition;
    addition.kind = StepKind::kAddition;
    addition.accumulator = c;
    c = addition.trace.result = ieee_add(partial, c, rules.output);
    steps.push_back(std::move(addition));
  }
  return steps;
}

}  // namespace

void require_steps(const MmaInstruction& instruction, const StepRules& rules) {
  const char* reason = nullptr;
  if (rules.is_f64()) {
    reason = "it is a chain of fused multiply-adds";
  } else if (instruction.a_type == DataType::kB1) {
    reason = "it counts bits";
  } else if (instruction.scales) {
    reason = "its block scales are not shown";
  }
  if (reason != nullptr) {
    throw base::InputError(instruction.ptx_name() + " has no steps of products: " + reason);
  }
}

std::vector<ElementStep> trace_element(std::span<const Word> a_row, std::span<const Word> b_column, Word c,
                                       const MmaInstruction& instruction, const StepRules& rules) {
  base::ensure(a_row.size() == b_column.size(), "trace_element: row and column differ in length");
  require_steps(instruction, rules);
  if (rules.lowered_fp8) {
    return lowered_steps(a_row, b_column, c, instruction, rules);
  }
  c = accumulator_word(c, instruction);
  std::vector<ElementStep> steps;
  const auto width = static_cast<std::size_t>(rules.products_per_step);
  for (std::size_t k = 0; k < a_row.size(); k += width) {
    const std::size_t count = std::min(width, a_row.size() - k);
    const auto a = a_row.subspan(k, count);
    const auto b = b_column.subspan(k, count);
    ElementStep step =
        rules.is_integer() ? integer_step(a, b, c, instruction) : aligned_step(a, b, c, instruction, rules);
    step.positions.resize(count);
    std::iota(step.positions.begin(), step.positions.end(), k);
    c = step.trace.result;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace sptc::mma
