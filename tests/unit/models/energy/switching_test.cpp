// SPDX-License-Identifier: Apache-2.0
#include "models/energy/switching.h"

#include "models/numerics/codec.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::energy {
namespace {

using numerics::DataType;
using numerics::Word;

std::vector<Word> words(const std::vector<double>& values, DataType type) {
  std::vector<Word> result;
  for (const double value : values) {
    result.push_back(numerics::from_double(value, type));
  }
  return result;
}

TEST(ToggleSampler, CountsTheOperandBitsThatChangeByHand) {
  // One multiplier: 1 = 0x3C00, -2 = 0xC000, 1 again. From 0: 4 bits; to -2: 0xFC00, 6; back: 6.
  ToggleSampler sampler(DataType::kF16, 1);
  sampler.add(words({1, -2, 1}, DataType::kF16), words({0, 0, 0}, DataType::kF16));
  EXPECT_DOUBLE_EQ(sampler.toggles().operand_a, 16 / 3.0);
  EXPECT_DOUBLE_EQ(sampler.toggles().operand_b, 0);
}

TEST(ToggleSampler, PartialProductsAgreeWithCountingEveryGate) {
  for (std::uint32_t seed = 0; seed < 64; ++seed) {
    const Word a0 = seed * 37 % 256;
    const Word b0 = seed * 91 % 256;
    const Word a1 = seed * 13 % 256;
    const Word b1 = seed * 171 % 256;
    int gates = 0;
    int first = 0;
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        const bool before = (a0 >> i & 1) != 0 && (b0 >> j & 1) != 0;
        const bool after = (a1 >> i & 1) != 0 && (b1 >> j & 1) != 0;
        gates += before != after ? 1 : 0;
        first += before ? 1 : 0;
      }
    }
    ToggleSampler sampler(DataType::kU8, 1);
    sampler.add(std::vector<Word>{a0, a1}, std::vector<Word>{b0, b1});
    EXPECT_DOUBLE_EQ(sampler.toggles().products, (first + gates) / 2.0) << seed;
  }
}

TEST(ToggleSampler, LanesOfAStepDoNotSeeEachOther) {
  // Two multipliers with constant operands each: only the first step toggles.
  ToggleSampler wide(DataType::kF16, 2);
  wide.add(words({1, -2, 1, -2, 1, -2}, DataType::kF16), words({0, 0, 0, 0, 0, 0}, DataType::kF16));
  EXPECT_DOUBLE_EQ(wide.toggles().operand_a, (4 + 2) / 6.0);
}

TEST(ToggleSampler, BitsBelowTheMantissaOfTf32DoNotCount) {
  ToggleSampler sampler(DataType::kTf32, 1);
  sampler.add(std::vector<Word>{0x00001FFF, 0}, std::vector<Word>{0, 0});
  EXPECT_DOUBLE_EQ(sampler.toggles().operand_a, 0);
}

TEST(ToggleSampler, AddendsAreAlignedToTheLargestExponentOfTheirStep) {
  // 2^-12 * 2^-12 = 2^-24 beside 1 is one unit in the last of 24 fraction bits; 2^-26 is cut off.
  ToggleSampler kept(DataType::kF16, 2);
  kept.add(words({1, 0x1p-12}, DataType::kF16), words({1, 0x1p-12}, DataType::kF16));
  ToggleSampler cut(DataType::kF16, 2);
  cut.add(words({1, 0x1p-12}, DataType::kF16), words({1, 0x1p-14}, DataType::kF16));
  EXPECT_DOUBLE_EQ(kept.toggles().addends, 2 / 2.0);
  EXPECT_DOUBLE_EQ(cut.toggles().addends, 1 / 2.0);
}

TEST(ToggleSampler, AnAccumulatorGoesFromItsSumInOneDotProductToThatInTheNext) {
  // After the first product 1 = 0x3F800000, seven bits; after the second one 2 = 0x40000000, one.
  ToggleSampler sampler(DataType::kF16, 1);
  for (const double dot_products : {1.0, 2.0}) {  // the second one changes nothing
    sampler.add(words({1, 1}, DataType::kF16), words({1, 1}, DataType::kF16));
    EXPECT_DOUBLE_EQ(sampler.toggles().accumulators, (7 + 1) / (2 * dot_products));
  }
}

TEST(ToggleSampler, IntegersAreInTwosComplement) {
  // -1 in 16 bits of a product of bytes, and in 32 bits of a sum.
  ToggleSampler sampler(DataType::kS8, 1);
  sampler.add(words({-1}, DataType::kS8), words({1}, DataType::kS8));
  EXPECT_DOUBLE_EQ(sampler.toggles().addends, 16);
  EXPECT_DOUBLE_EQ(sampler.toggles().accumulators, 32);
}

TEST(ReferenceToggles, RandomMantissasToggleHalfOfTheirBits) {
  // Ten mantissa bits and the sign toggle half the time; the exponent adds the rest.
  const Toggles& f16 = reference_toggles(DataType::kF16);
  EXPECT_GT(f16.operand_a, 5.5);
  EXPECT_LT(f16.operand_a, 8);
  EXPECT_NEAR(f16.operand_a, f16.operand_b, 0.1);
  // All 8 bits of 32 N(0,1) in two's complement.
  EXPECT_NEAR(reference_toggles(DataType::kS8).operand_a, 4, 0.1);
  EXPECT_LT(reference_toggles(DataType::kBf16).products, 0.7 * f16.products);
}

}  // namespace
}  // namespace sptc::energy
