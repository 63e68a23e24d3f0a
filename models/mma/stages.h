// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/stage_data.h"
#include "models/mma/step_rules.h"

#include <cstdint>

namespace sptc::mma {

// What the stages of a tensor core do, each alone: decode, select, multiply, align and add, round.
// A stage sees what the stage before it put on the wire and nothing else. All work on the 16 x 8
// results of one step at a time, eight columns side by side.

/// Which types meet, and by which rules: constant for an instruction, known to every stage.
struct StepContext {
  MmaInstruction instruction;
  StepRules rules;
  int steps = 0;  ///< steps of one instruction
  /// Left shift that brings a product at the largest exponent to F fraction bits; negative: right.
  int product_shift = 0;
  int accumulator_shift = 0;  ///< the same for the accumulator
  int operand_bits = 0;       ///< of what a multiplier takes: 16 where fp8 is lowered to f16

  /// Throws InputError for an instruction or rules whose steps the stages do not take.
  StepContext(const MmaInstruction& which, const StepRules& step_rules);

  static bool carries(const MmaInstruction& which, const StepRules& step_rules);

  /// Throws InputError where the steps can be timed but not their values computed: of lowered fp8
  /// the conversions and the final addition are no work of a tensor core.
  void require_values() const;

  /// Simulates time alone: any instruction of the mma family, in steps of `step_bytes` bytes of A
  /// per row. The stages below do not execute it.
  static StepContext timing_only(const MmaInstruction& which, int step_bytes);

 private:
  StepContext() = default;
};

/// Takes the operand words of one instruction apart.
void decode_operands(const StepContext& context, const OperandWords& words, FetchedOperands& fetched);

/// The accumulator of the next step from the words of the step before.
void decode_accumulators(const StepContext& context, const RoundedResults& words, Accumulators& accumulators);

/// Step `step`: hands every multiplier its element of A and the element of B that the metadata
/// names (dense: the one at the same k). Metadata of tf32 must be valid: no element is mixed of
/// two.
void select_operands(const StepContext& context, const FetchedOperands& fetched, int step, SelectedOperands& selected);

/// Exact products and the largest exponent, the accumulator's included.
void multiply(const StepContext& context, const SelectedOperands& selected, const Accumulators& accumulator,
              Products& products);

/// Aligns every addend to the largest exponent, cuts its magnitude toward zero at F fraction bits,
/// adds exactly.
void align_and_add(const StepContext& context, const Products& products, AlignedSums& sums);

/// Rounds every sum once to the accumulator format; integers wrap mod 2^32.
void round_sums(const StepContext& context, const AlignedSums& sums, RoundedResults& results);

}  // namespace sptc::mma
