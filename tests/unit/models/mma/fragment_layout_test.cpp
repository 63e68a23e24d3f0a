// SPDX-License-Identifier: Apache-2.0
#include "models/mma/fragment_layout.h"

#include "models/base/error.h"
#include "tests/support/fragments.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr FragmentOperand kOperands[] = {FragmentOperand::kA, FragmentOperand::kB,
                                         FragmentOperand::kAccumulator};

MmaInstruction instruction(DataType type, int k, bool sparse,
                           DataType accumulator = DataType::kF32) {
  return {.shape = {16, 8, k},
          .a_type = type,
          .b_type = type,
          .accumulator = type == DataType::kS8 ? DataType::kS32 : accumulator,
          .sparse = sparse};
}

/// Registers of A and B of every shape, from the table of mma.sync and mma.sp in the PTX ISA.
struct Shape {
  MmaInstruction instruction;
  int a_registers;
  int b_registers;
};

const std::vector<Shape> kShapes{
    {instruction(DataType::kF16, 8, false), 2, 1},
    {instruction(DataType::kF16, 16, false), 4, 2},
    {instruction(DataType::kF16, 16, false, DataType::kF16), 4, 2},
    {instruction(DataType::kBf16, 8, false), 2, 1},
    {instruction(DataType::kBf16, 16, false), 4, 2},
    {instruction(DataType::kTf32, 4, false), 2, 1},
    {instruction(DataType::kTf32, 8, false), 4, 2},
    {instruction(DataType::kS8, 16, false), 2, 1},
    {instruction(DataType::kS8, 32, false), 4, 2},
    {instruction(DataType::kF16, 16, true), 2, 2},
    {instruction(DataType::kF16, 32, true), 4, 4},
    {instruction(DataType::kF16, 32, true, DataType::kF16), 4, 4},
    {instruction(DataType::kTf32, 8, true), 2, 2},
    {instruction(DataType::kTf32, 16, true), 4, 4},
    {instruction(DataType::kS8, 32, true), 2, 2},
    {instruction(DataType::kS8, 64, true), 4, 4},
};

TEST(FragmentLayout, HasTheRegistersOfPtx) {
  for (const Shape& shape : kShapes) {
    EXPECT_EQ(fragment_layout(shape.instruction, FragmentOperand::kA).registers(),
              shape.a_registers);
    EXPECT_EQ(fragment_layout(shape.instruction, FragmentOperand::kB).registers(),
              shape.b_registers);
    EXPECT_EQ(fragment_layout(shape.instruction, FragmentOperand::kAccumulator).registers(),
              shape.instruction.accumulator == DataType::kF16 ? 2 : 4);
  }
}

TEST(FragmentLayout, IsABijectionForEveryShape) {
  for (const Shape& shape : kShapes) {
    for (const FragmentOperand operand : kOperands) {
      const FragmentLayout layout = fragment_layout(shape.instruction, operand);
      std::set<std::pair<int, int>> seen;
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        for (int reg = 0; reg < layout.registers(); ++reg) {
          for (int element = 0; element < layout.elements_per_register(); ++element) {
            const FragmentSlot slot{lane, reg, element};
            const FragmentCoordinate where = layout.coordinate(slot);
            ASSERT_TRUE(where.row >= 0 && where.row < layout.rows);
            ASSERT_TRUE(where.col >= 0 && where.col < layout.cols);
            ASSERT_EQ(layout.slot(where), slot);
            seen.insert({where.row, where.col});
          }
        }
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(layout.rows * layout.cols));
    }
  }
}

TEST(FragmentLayout, OfF16AccumulatorsPutsTwoColumnsInARegister) {
  const FragmentLayout c = fragment_layout(instruction(DataType::kF16, 16, false, DataType::kF16),
                                           FragmentOperand::kAccumulator);
  EXPECT_EQ(c.coordinate({7, 0, 0}), (FragmentCoordinate{1, 6}));
  EXPECT_EQ(c.coordinate({7, 0, 1}), (FragmentCoordinate{1, 7}));
  EXPECT_EQ(c.coordinate({7, 1, 0}), (FragmentCoordinate{9, 6}));
  base::Matrix<Word> tile(16, 8);
  tile(1, 6) = 0x1111;
  tile(1, 7) = 0x2222;
  EXPECT_EQ(pack_fragment(c, tile)(0, 7), 0x22221111U);
}

TEST(FragmentLayout, RefusesShapesWithoutOne) {
  MmaInstruction odd = instruction(DataType::kF16, 12, false);
  EXPECT_THROW(fragment_layout(odd, FragmentOperand::kA), base::InputError);
  odd.shape.k = 0;
  EXPECT_THROW(fragment_layout(odd, FragmentOperand::kB), base::InputError);
  odd.shape = {8, 8, 16};
  EXPECT_THROW(fragment_layout(odd, FragmentOperand::kAccumulator), base::InputError);
  // 32 bytes of compressed K are whole registers, half of them for s8 k16 are not.
  EXPECT_THROW(fragment_layout(instruction(DataType::kS8, 16, true), FragmentOperand::kA),
               base::InputError);
}

}  // namespace
}  // namespace sptc::mma
