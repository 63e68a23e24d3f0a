// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/dot_step.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sptc::mma {

/// What a step does with its terms.
enum class StepKind {
  kAligned,   ///< aligns, cuts, adds and rounds them, as StepRules say
  kExact,     ///< adds integers
  kAddition,  ///< adds C at the end of a lowered fp8 instruction, by an IEEE addition
};

/// One step of one element of D.
struct ElementStep {
  StepKind kind = StepKind::kAligned;
  std::vector<std::size_t> positions;  ///< of the products, in A as stored
  numerics::Word accumulator = 0;      ///< that enters: C, or the result of the step before
  /// The products in order and the accumulator as the last. Empty with StepKind::kAddition, and
  /// where a NaN or an infinity takes part.
  std::vector<Addend> addends;
  StepTrace trace;
};

/// Throws InputError, with the reason, for an instruction that does not work in steps of products:
/// f64, b1, and block scales.
void require_steps(const MmaInstruction& instruction, const StepRules& rules);

/// One element of D of one instruction, step by step: the arithmetic of dense_dot(). `a_row` is a
/// row of A as stored, `b_column` what the multipliers get beside it, `c` a word of
/// instruction.c_type(). Throws as require_steps() does.
std::vector<ElementStep> trace_element(std::span<const numerics::Word> a_row, std::span<const numerics::Word> b_column,
                                       numerics::Word c, const MmaInstruction& instruction, const StepRules& rules);

}  // namespace sptc::mma
