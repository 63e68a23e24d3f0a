// SPDX-License-Identifier: Apache-2.0
// What each stage of the data path puts on its wire, computed by hand for one element of one
// instruction:
//   D[0][0] = 1.5 * 2 + (-1) * 0.25 + 0.5 (f16 operands, f32 accumulator).
#include "models/mma/stages.h"

#include "models/base/error.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace sptc::mma {
namespace {

using numerics::DataType;

struct Stages {
  explicit Stages(bool sparse)
      : instruction{{16, 8, sparse ? 16 : 8},
                    DataType::kF16,
                    DataType::kF16,
                    DataType::kF32,
                    sparse},
        context(instruction, step_rules("ampere", instruction)),
        operands(instruction) {
    operands.a(0, 0) = 0x3E00;               // 1.5
    operands.a(0, 1) = 0xBC00;               // -1
    operands.b(sparse ? 1 : 0, 0) = 0x4000;  // 2
    operands.b(sparse ? 3 : 1, 0) = 0x3400;  // 0.25
    operands.c(0, 0) = 0x3F000000;           // 0.5
    if (sparse) {
      operands.nibbles(0, 0) = 0b1101;  // elements 1 and 3 of the first group
    }
    decode_operands(context, operand_words(instruction, operands), fetched);
    select_operands(context, fetched, 0, selected);
    multiply(context, selected, fetched.c, products);
    align_and_add(context, products, sums);
    round_sums(context, sums, results);
  }

  MmaInstruction instruction;
  StepContext context;
  MmaOperands operands;
  FetchedOperands fetched;
  SelectedOperands selected;
  Products products;
  AlignedSums sums;
  RoundedResults results;
};

TEST(StageDecode, TakesWordsApart) {
  const auto stages = std::make_unique<Stages>(false);
  EXPECT_EQ(stages->fetched.a.significand[0][0], 0x600);  // 1.5 * 2^10
  EXPECT_EQ(stages->fetched.a.exponent[0][0], 0);
  EXPECT_EQ(stages->fetched.a.significand[0][1], -0x400);
  EXPECT_EQ(stages->fetched.b.significand[0][0], 0x400);
  EXPECT_EQ(stages->fetched.b.exponent[0][0], 1);
  EXPECT_EQ(stages->fetched.b.exponent[1][0], -2);
  EXPECT_EQ(stages->fetched.c.significand[0][0], 0x800000);
  EXPECT_EQ(stages->fetched.c.exponent[0][0], -1);
  EXPECT_EQ(stages->fetched.a.significand[5][3], 0);
  EXPECT_LT(stages->fetched.a.exponent[5][3], -1000);  // a zero wins no maximum
  EXPECT_FALSE(stages->fetched.a.has_special);
}

TEST(StageSelect, HandsEveryMultiplierTheElementOfBThatTheMetadataNames) {
  const auto dense = std::make_unique<Stages>(false);
  const auto sparse = std::make_unique<Stages>(true);
  EXPECT_EQ(dense->selected.b_row[0][0], 0);
  EXPECT_EQ(dense->selected.b_row[0][1], 1);
  EXPECT_EQ(sparse->selected.b_row[0][0], 1);
  EXPECT_EQ(sparse->selected.b_row[0][1], 3);
  EXPECT_EQ(sparse->selected.b_row[1][0], 0);  // 0b0100 in the other rows
  EXPECT_EQ(sparse->selected.b_row[1][1], 1);
  for (const auto* stages : {dense.get(), sparse.get()}) {
    EXPECT_EQ(stages->selected.b.significand[0][0], 0x400);
    EXPECT_EQ(stages->selected.b.exponent[0][0], 1);
    EXPECT_EQ(stages->selected.b.exponent[1][0], -2);
  }
}

TEST(StageMultiply, FormsExactProductsAndTheLargestExponent) {
  const auto stages = std::make_unique<Stages>(true);
  EXPECT_EQ(stages->products.significand[0][0], 0x600 * 0x400);
  EXPECT_EQ(stages->products.exponent[0][0], 1);
  EXPECT_EQ(stages->products.significand[1][0], -0x400 * 0x400);
  EXPECT_EQ(stages->products.exponent[1][0], -2);
  EXPECT_EQ(stages->products.max_exponent[0][0], 1);
  EXPECT_EQ(stages->products.max_exponent[3][5], -132);  // nothing but zeros: the floor
}

TEST(StageAlignAdd, ShiftsToTheLargestExponentAndAddsExactly) {
  const auto stages = std::make_unique<Stages>(true);
  // Units of 2^(1-24).
  EXPECT_EQ(stages->sums.addend[0][0], 3 << 23);
  EXPECT_EQ(stages->sums.addend[1][0], -(1 << 21));
  EXPECT_EQ(stages->sums.addend[8][0], 1 << 22);  // the accumulator follows the products
  EXPECT_EQ(stages->sums.sum[0][0], (3 << 23) - (1 << 21) + (1 << 22));
  EXPECT_EQ(stages->sums.max_exponent[0][0], 1);
}

TEST(StageAlignAdd, CutsTheMagnitude) {
  auto stages = std::make_unique<Stages>(false);
  stages->products.significand[0][0] = 7;
  stages->products.significand[1][0] = -7;
  stages->products.exponent[0][0] = stages->products.exponent[1][0] = -5;
  align_and_add(stages->context, stages->products, stages->sums);
  // 7 * 2^4 is shifted right by 1 + 5 places: 1.75 of either sign becomes 1.
  EXPECT_EQ(stages->sums.addend[0][0], 1);
  EXPECT_EQ(stages->sums.addend[1][0], -1);
}

TEST(StageRound, RoundsOnce) {
  auto stages = std::make_unique<Stages>(false);
  EXPECT_EQ(stages->results.word[0][0], 0x40500000U);  // 3.25
  stages->sums.sum[0][0] =
      (std::int64_t{1} << 25) + 3;  // 2^25 + 3 in units of 2^-23: 26 bits to 24
  round_sums(stages->context, stages->sums, stages->results);
  EXPECT_EQ(stages->results.word[0][0], 0x40800000U);  // 4, the 3 is cut
  stages->sums.sum[0][0] = -((std::int64_t{1} << 25) + 4);
  round_sums(stages->context, stages->sums, stages->results);
  EXPECT_EQ(stages->results.word[0][0], 0xC0800001U);
}

TEST(StageFeedback, DecodesTheResultAsTheNextAccumulator) {
  const auto stages = std::make_unique<Stages>(false);
  Accumulators accumulator;
  decode_accumulators(stages->context, stages->results, accumulator);
  EXPECT_EQ(accumulator.significand[0][0], 13 << 20);  // 3.25 = 1.625 * 2
  EXPECT_EQ(accumulator.exponent[0][0], 1);
}

TEST(StepContext, TimesLoweredFp8AsF16AndComputesNoValues) {
  const MmaInstruction fp8 = gemm_instruction(numerics::DataType::kE4m3, false);
  const StepContext lowered(fp8, step_rules("hopper", fp8));
  EXPECT_EQ(lowered.steps, 2);
  EXPECT_EQ(lowered.operand_bits, 16);
  EXPECT_THROW(lowered.require_values(), base::InputError);
  const StepContext native(fp8, step_rules("ada", fp8));
  EXPECT_EQ(native.operand_bits, 8);
  native.require_values();
}

TEST(StepContext, DotUnitsNarrowerThanAnElementTakeThemOneByOne) {
  const MmaInstruction f16 = gemm_instruction(numerics::DataType::kF16, false);
  const StepContext narrow = StepContext::timing_only(f16, 1);
  EXPECT_EQ(narrow.rules.products_per_step, 1);
  EXPECT_EQ(narrow.steps, f16.shape.k);
}

}  // namespace
}  // namespace sptc::mma
