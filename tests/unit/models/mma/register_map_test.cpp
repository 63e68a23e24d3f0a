// SPDX-License-Identifier: Apache-2.0
#include "models/mma/register_map.h"

#include "models/mma/instruction.h"
#include "models/sparsity/metadata_register.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

namespace sptc::mma {
namespace {

TEST(OperandRegisters, OfPtxInstructionsAreThoseOfTheirFragments) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const RegisterMap map(instruction);
    const OperandRegisters registers = operand_registers(instruction);
    EXPECT_EQ(registers.a, map.a_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.b, map.b_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.accumulator, map.accumulator_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.metadata, instruction.sparse ? 1 : 0) << instruction.ptx_name();
    if (instruction.sparse) {
      EXPECT_EQ(registers.metadata_selectors,
                sparsity::metadata_register_format(instruction.a_type, instruction.shape.k).selectors());
    }
  }
}

TEST(OperandRegisters, OfOtherPatternsGrowWithTheColumnsThatMeetAKeptElement) {
  const auto of = [](sparsity::Pattern pattern) {
    return operand_registers(gemm_instruction(numerics::DataType::kF16, true, {}, pattern));
  };
  EXPECT_EQ(of({2, 4, 1}).b, 4);
  EXPECT_EQ(of({2, 8, 1}).b, 8);
  EXPECT_EQ(of({1, 4, 1}).b, 8);
  EXPECT_EQ(of({4, 8, 1}).b, 4);
  EXPECT_EQ(of({2, 8, 1}).metadata, 1);
  EXPECT_EQ(of({2, 8, 1}).metadata_selectors, 1) << "768 of 1024 bits";
  EXPECT_EQ(of({6, 8, 1}).a, 6) << "24 kept elements: whole groups in whole steps";
  EXPECT_EQ(of({6, 8, 1}).metadata, 2) << "16 rows of 72 bits";
}

}  // namespace
}  // namespace sptc::mma
