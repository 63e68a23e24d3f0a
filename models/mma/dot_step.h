// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sptc::mma {

// The plain arithmetic: short, readable, one element at a time. It is the oracle of every faster
// implementation.

/// One finite term of a step, exact and as it entered the sum.
struct Addend {
  bool negative = false;
  std::uint64_t significand = 0;
  int unit_exponent = 0;     ///< the exact value is (-1)^negative * significand * 2^unit_exponent
  int exponent = 0;          ///< that the choice of the largest sees
  std::int64_t aligned = 0;  ///< in units of 2^(largest_exponent - F), cut toward zero
};

/// What one step did: enough to see where two implementations part.
struct StepTrace {
  std::optional<int> largest_exponent;  ///< nothing: no term was finite and non-zero, or a special
  std::int64_t sum = 0;                 ///< in units of 2^(largest_exponent - F)
  numerics::Word result = 0;
};

/// One step: D = A B + C over the products of one rounding. `a` and `b` hold the same number of
/// elements (at most L) of the instruction's operand types, `c` is an accumulator word; all are
/// storage words. `scale` is added to the exponent of every product (block scales). `addends` gets
/// the products in order and C as the last; it stays empty where a NaN or an infinity takes part.
/// Not for integers.
StepTrace trace_step(std::span<const numerics::Word> a, std::span<const numerics::Word> b, numerics::Word c,
                     const MmaInstruction& instruction, const StepRules& rules, int scale = 0,
                     std::vector<Addend>* addends = nullptr);

/// C, a word of instruction.c_type(), as a word of the accumulator: an f16 beside an f32 D is
/// widened, exactly.
numerics::Word accumulator_word(numerics::Word c, const MmaInstruction& instruction);

/// A B + C in s32, exact: it wraps mod 2^32, or with satfinite is clamped once, after the sum of
/// all products and C (the tcgen05 model of sf-tensor for B200; assumed elsewhere). For b1 each
/// word holds packed bits, and the sum counts the bits of a XOR b or a AND b. Source: PTX ISA, mma.
numerics::Word integer_dot(std::span<const numerics::Word> a, std::span<const numerics::Word> b, numerics::Word c,
                           const MmaInstruction& instruction);

/// The result alone. Integers too: exact mod 2^32, or clamped with satfinite; elements of b1 are
/// words of packed bits.
numerics::Word dot_step(std::span<const numerics::Word> a, std::span<const numerics::Word> b, numerics::Word c,
                        const MmaInstruction& instruction, const StepRules& rules);

/// One element of D of a whole GEMM: steps over K in increasing k, as a kernel without split-K
/// executes them. `a_row` and `b_column` have the same length k; a last step that is not full is
/// padded with zeros. `c` is a word of instruction.c_type().
numerics::Word dense_dot(std::span<const numerics::Word> a_row, std::span<const numerics::Word> b_column,
                         numerics::Word c, const MmaInstruction& instruction, const StepRules& rules);

/// The same with A compressed: `a_row` holds compressed_k values, `nibbles` the metadata of the
/// row's groups, and `b_column` logical_k elements. Elements of B that are not selected are never
/// looked at.
numerics::Word sparse_dot(std::span<const numerics::Word> a_row, std::span<const std::uint8_t> nibbles,
                          std::span<const numerics::Word> b_column, numerics::Word c, const MmaInstruction& instruction,
                          const StepRules& rules);

/// The same of a block-scaled instruction. `a_scales` and `b_scales` are bytes, one for every
/// instruction.scales->block elements of `a_row` and of `b_column`, which of a sparse instruction
/// holds the elements that are selected. A scale that is NaN makes its step NaN. The length is a
/// multiple of the step.
numerics::Word block_scaled_dot(std::span<const numerics::Word> a_row, std::span<const numerics::Word> b_column,
                                std::span<const numerics::Word> a_scales, std::span<const numerics::Word> b_scales,
                                numerics::Word c, const MmaInstruction& instruction, const StepRules& rules);

/// One element of D of an f64 mma: a chain of IEEE fused multiply-adds in increasing k, each
/// rounded to nearest even (PTX ISA, mma .f64; MMA-Sim). `a_row` and `b_column` have the same
/// length; all are binary64 bits. A NaN is what the words of H100 and H200 say: the first one of B,
/// the sum and A, made quiet; 0xFFF8000000000000 where none of the three is one.
std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column, std::uint64_t c);

}  // namespace sptc::mma
