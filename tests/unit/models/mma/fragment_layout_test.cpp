// SPDX-License-Identifier: Apache-2.0
#include "models/mma/fragment_layout.h"

#include "models/base/error.h"
#include "models/mma/instruction.h"
#include "tests/support/fragments.h"

#include <gtest/gtest.h>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

MmaInstruction instruction(DataType type, int k, bool sparse, DataType accumulator = DataType::kF32) {
  return {.shape = {16, 8, k},
          .a_type = type,
          .b_type = type,
          .accumulator = type == DataType::kS8 ? DataType::kS32 : accumulator,
          .sparse = sparse};
}

TEST(FragmentLayout, OfF16AccumulatorsPutsTwoColumnsInARegister) {
  const FragmentLayout c =
      fragment_layout(instruction(DataType::kF16, 16, false, DataType::kF16), FragmentOperand::kAccumulator);
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
  EXPECT_THROW(fragment_layout(instruction(DataType::kS8, 16, true), FragmentOperand::kA), base::InputError);
}

}  // namespace
}  // namespace sptc::mma
