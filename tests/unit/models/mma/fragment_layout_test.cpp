// SPDX-License-Identifier: Apache-2.0
#include "models/mma/fragment_layout.h"

#include "models/base/error.h"

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

TEST(FragmentLayout, OfAPutsRowsEightApartInNeighbouringRegisters) {
  const FragmentLayout a =
      fragment_layout(instruction(DataType::kF16, 16, false), FragmentOperand::kA);
  EXPECT_EQ(a.coordinate({0, 0, 0}), (FragmentCoordinate{0, 0}));
  EXPECT_EQ(a.coordinate({6, 1, 1}), (FragmentCoordinate{9, 5}));
  EXPECT_EQ(a.coordinate({31, 2, 0}), (FragmentCoordinate{7, 14}));
  EXPECT_EQ(a.coordinate({31, 3, 1}), (FragmentCoordinate{15, 15}));
}

TEST(FragmentLayout, OfBRunsAlongKInEachLane) {
  const FragmentLayout b =
      fragment_layout(instruction(DataType::kS8, 64, true), FragmentOperand::kB);
  EXPECT_EQ(b.rows, 64);
  EXPECT_EQ(b.coordinate({0, 0, 3}), (FragmentCoordinate{3, 0}));
  EXPECT_EQ(b.coordinate({5, 2, 1}), (FragmentCoordinate{37, 1}));
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

base::Matrix<Word> counting(std::size_t rows, std::size_t cols) {
  base::Matrix<Word> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<Word>(i & 0xFF);
  }
  return matrix;
}

TEST(PackFragment, AndUnpackAreInverse) {
  for (const Shape& shape : kShapes) {
    for (const FragmentOperand operand : kOperands) {
      const FragmentLayout layout = fragment_layout(shape.instruction, operand);
      const base::Matrix<Word> tile =
          counting(static_cast<std::size_t>(layout.rows), static_cast<std::size_t>(layout.cols));
      const base::Matrix<std::uint32_t> registers = pack_fragment(layout, tile);
      EXPECT_EQ(registers.cols(), 32U);
      EXPECT_EQ(unpack_fragment(layout, registers), tile);
    }
  }
}

TEST(PackFragment, IgnoresBitsAboveTheElement) {
  const FragmentLayout a =
      fragment_layout(instruction(DataType::kS8, 16, false), FragmentOperand::kA);
  EXPECT_EQ(pack_fragment(a, base::Matrix<Word>(16, 16, 0xFFFFFF01U))(0, 0), 0x01010101U);
}

TEST(PackFragment, CutsATileOutOfAMatrixWithZerosBeyondItsEdges) {
  const FragmentLayout a =
      fragment_layout(instruction(DataType::kTf32, 4, false), FragmentOperand::kA);
  const base::Matrix<Word> tile = unpack_fragment(a, pack_fragment(a, counting(20, 6), 16, 4));
  EXPECT_EQ(tile(0, 0), (16U * 6 + 4) & 0xFF);
  EXPECT_EQ(tile(3, 1), (19U * 6 + 5) & 0xFF);
  EXPECT_EQ(tile(0, 2), 0U);
  EXPECT_EQ(tile(4, 0), 0U);
}

TEST(PackFragment, TakesElementsFromAnyFunctionOfRowAndColumn) {
  const FragmentLayout b =
      fragment_layout(instruction(DataType::kF16, 16, false), FragmentOperand::kB);
  const auto registers =
      pack_fragment_from(b, [](int row, int col) { return static_cast<Word>(16 * row + col); });
  EXPECT_EQ(registers(1, 5), static_cast<Word>((16 * 11 + 1) << 16 | (16 * 10 + 1)));
}

TEST(UnpackFragment, RefusesTheWrongNumberOfRegisters) {
  const FragmentLayout a =
      fragment_layout(instruction(DataType::kF16, 16, false), FragmentOperand::kA);
  EXPECT_THROW(unpack_fragment(a, base::Matrix<std::uint32_t>(3, 32)), base::InputError);
  EXPECT_THROW(unpack_fragment(a, base::Matrix<std::uint32_t>(4, 31)), base::InputError);
}

}  // namespace
}  // namespace sptc::mma
