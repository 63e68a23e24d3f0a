// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"

#include "models/mma/instruction.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

namespace sptc::mma {
namespace {

using numerics::DataType;

TEST(StepRules, RefuseAnUnknownArchitectureWithTheNearestName) {
  const MmaInstruction instruction = gemm_instruction(DataType::kF16, false);
  support::expect_input_error([&] { step_rules("amper", instruction); }, {"amper", "ampere"});
}

TEST(StepRules, RefuseAnInstructionWithoutARow) {
  MmaInstruction instruction = gemm_instruction(DataType::kBf16, false);
  instruction.accumulator = DataType::kF16;
  support::expect_input_error([&] { step_rules("ampere", instruction); }, {"bf16", "ampere"});
}

TEST(WithAccumulator, ChangesTheBitsAndTheStepOfFloatsAndOfNothingElse) {
  const MmaInstruction f16 = gemm_instruction(DataType::kF16, false);
  const StepRules usual = step_rules("ampere", f16);
  const StepRules same = with_accumulator(usual, {}, f16);
  EXPECT_EQ(same.fraction_bits, 24);
  EXPECT_EQ(same.products_per_step, 8);
  EXPECT_EQ(same.evidence, usual.evidence);

  const StepRules narrow = with_accumulator(usual, {16, 32}, f16);
  EXPECT_EQ(narrow.fraction_bits, 16);
  EXPECT_EQ(narrow.products_per_step, 16);
  EXPECT_EQ(narrow.exponent_floor, -124) << "F + floor stays -108";
  EXPECT_EQ(narrow.evidence, Evidence::kAssumed);
  EXPECT_EQ(with_accumulator(usual, {25, 0}, f16).exponent_floor, step_rules("hopper", f16).exponent_floor);

  const MmaInstruction s8 = gemm_instruction(DataType::kS8, false);
  EXPECT_EQ(with_accumulator(step_rules("ampere", s8), {8, 4}, s8).products_per_step, 16);
}

}  // namespace
}  // namespace sptc::mma
