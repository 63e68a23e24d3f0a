// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "models/base/error.h"
#include "models/base/text.h"

namespace sptc::mma {
namespace {

using numerics::DataType;

struct Row {
  std::string_view architecture;
  DataType operand;
  DataType accumulator;
  StepRules rules;
};

// Evidence of each row: HW = equal to published words of real GPUs; PTX = exact by the PTX ISA.
constexpr std::array<Row, 5> kRows{{
    // A100 m16n8k8 and k16 (two steps): HW
    {"ampere", DataType::kF16, DataType::kF32,
     {8, 24, OutputRounding::kTowardZero, -132, DataType::kF32}},
    {"ampere", DataType::kF16, DataType::kF16,
     {8, 24, OutputRounding::kNearestEven, -20, DataType::kF16}},
    {"ampere", DataType::kBf16, DataType::kF32,
     {8, 24, OutputRounding::kTowardZero, -132, DataType::kF32}},
    // A100 m16n8k4 and k8 (two steps): HW
    {"ampere", DataType::kTf32, DataType::kF32,
     {4, 24, OutputRounding::kTowardZero, -132, DataType::kF32}},
    // Exact mod 2^32: PTX. The step width is that of the multiplier array; it cannot be seen in the result.
    {"ampere", DataType::kS8, DataType::kS32,
     {16, 0, OutputRounding::kTowardZero, std::nullopt, DataType::kS32}},
}};

}  // namespace

std::vector<std::string_view> step_rule_sets() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (std::find(names.begin(), names.end(), row.architecture) == names.end()) {
      names.push_back(row.architecture);
    }
  }
  return names;
}

StepRules step_rules(std::string_view architecture, const MmaInstruction& instruction) {
  const std::vector<std::string_view> sets = step_rule_sets();
  if (std::find(sets.begin(), sets.end(), architecture) == sets.end()) {
    throw InputError("unknown numerics " + unknown_name(architecture, sets));
  }
  for (const Row& row : kRows) {
    if (row.architecture == architecture && row.operand == instruction.a_type &&
        instruction.a_type == instruction.b_type && row.accumulator == instruction.accumulator) {
      StepRules rules = row.rules;
      rules.products_per_step = std::min(rules.products_per_step, instruction.compressed_k());
      return rules;
    }
  }
  throw InputError("no arithmetic is known for " + instruction.ptx_name() + " on '" +
                   std::string(architecture) + "'");
}

}  // namespace sptc::mma
