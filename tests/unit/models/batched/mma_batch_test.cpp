// SPDX-License-Identifier: Apache-2.0
#include "models/batched/mma_batch.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::batched {
namespace {

using numerics::DataType;
using numerics::Word;

class MmaBatchTest : public testing::Test {
 protected:
  MmaBatchTest() {
    batch.cases = 3;
    batch.m = 2;
    batch.n = 5;
    batch.k = batch.depth = 16;
    batch.a = a;
    batch.b = b;
  }

  std::string error() const {
    std::vector<Word> d(30);
    try {
      mma_batch(instruction, rules, batch, d);
    } catch (const base::InputError& refused) {
      return refused.what();
    }
    return {};
  }

  mma::MmaInstruction instruction = mma::gemm_instruction(DataType::kF16, false);
  mma::StepRules rules = mma::step_rules("ampere", instruction);
  std::vector<Word> a = std::vector<Word>(96, numerics::from_double(1.0, DataType::kF16));
  std::vector<Word> b = std::vector<Word>(240, numerics::from_double(2.0, DataType::kF16));
  MmaBatch batch;
};

TEST_F(MmaBatchTest, RefusesAnOperandOfAnotherSize) {
  batch.b = std::span<const Word>(b).first(239);
  EXPECT_EQ(error(), "batch operand B holds 239 elements, but its extents are 240");
}

TEST_F(MmaBatchTest, RefusesADepthThatIsNotThatOfB) {
  batch.depth = 8;
  batch.a = std::span<const Word>(a).first(48);
  EXPECT_EQ(error(), "batch operand A has rows of 8 elements, but B has k = 16");
}

TEST_F(MmaBatchTest, RefusesIndicesOfADenseInstruction) {
  const std::vector<std::uint32_t> indices(96);
  batch.indices = indices;
  EXPECT_NE(error().find("is dense and takes none"), std::string::npos);
}

TEST_F(MmaBatchTest, RefusesAnIndexOutsideB) {
  instruction.sparse = true;
  std::vector<std::uint32_t> indices(96);
  indices[50] = 16;
  batch.indices = indices;
  EXPECT_EQ(error(), "batch operand indices: 16 is outside B, which has k = 16");
}

}  // namespace
}  // namespace sptc::batched
