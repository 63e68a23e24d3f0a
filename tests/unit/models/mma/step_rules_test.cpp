// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

namespace sptc::mma {
namespace {

using numerics::DataType;

TEST(StepRules, OfAmpereAreThoseOfTheHardwareWords) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const StepRules rules = step_rules("ampere", instruction);
    const bool half_output = instruction.accumulator == DataType::kF16;
    EXPECT_EQ(rules.output, instruction.accumulator);
    EXPECT_EQ(rules.products_per_step * numerics::storage_bits(instruction.a_type), 128)
        << "16 bytes of A";
    if (rules.is_integer()) {
      continue;
    }
    EXPECT_EQ(rules.fraction_bits, 24);
    EXPECT_EQ(rules.rounding,
              half_output ? OutputRounding::kNearestEven : OutputRounding::kTowardZero);
    EXPECT_EQ(rules.exponent_floor, half_output ? -20 : -132);
  }
}

TEST(StepRules, RefuseAnUnknownArchitectureWithTheNearestName) {
  const MmaInstruction instruction = gemm_instruction(DataType::kF16, false);
  expect_input_error([&] { step_rules("amper", instruction); }, {"amper", "ampere"});
}

TEST(StepRules, RefuseAnInstructionWithoutARow) {
  MmaInstruction instruction = gemm_instruction(DataType::kBf16, false);
  instruction.accumulator = DataType::kF16;
  expect_input_error([&] { step_rules("ampere", instruction); }, {"bf16", "ampere"});
}

}  // namespace
}  // namespace sptc::mma
