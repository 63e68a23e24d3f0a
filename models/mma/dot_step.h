// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/codec.h"

namespace sptc::mma {

// The plain arithmetic: short, readable, one element at a time. It is the oracle of every faster implementation.

/// One step: D = A B + C over the products of one rounding. `a` and `b` hold the same number of elements (at most L) of
/// the instruction's operand types, `c` is an accumulator word; all are storage words.
numerics::Word dot_step(std::span<const numerics::Word> a, std::span<const numerics::Word> b,
                        numerics::Word c, const MmaInstruction& instruction,
                        const StepRules& rules);

/// One element of D of a whole GEMM: steps over K in increasing k, as a kernel without split-K executes them. `a_row`
/// and `b_column` have the same length k; a last step that is not full is padded with zeros.
numerics::Word dense_dot(std::span<const numerics::Word> a_row,
                         std::span<const numerics::Word> b_column, numerics::Word c,
                         const MmaInstruction& instruction, const StepRules& rules);

/// The same with A compressed: `a_row` holds compressed_k values, `nibbles` the metadata of the row's groups, and
/// `b_column` logical_k elements. Elements of B that are not selected are never looked at.
numerics::Word sparse_dot(std::span<const numerics::Word> a_row,
                          std::span<const std::uint8_t> nibbles,
                          std::span<const numerics::Word> b_column, numerics::Word c,
                          const MmaInstruction& instruction, const StepRules& rules);

}  // namespace sptc::mma
