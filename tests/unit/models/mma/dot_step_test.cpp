// SPDX-License-Identifier: Apache-2.0
// Worked examples of the step arithmetic of an A100: each result was computed by hand.
#include "models/mma/dot_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr Word kNan = 0x7FFFFFFF;
constexpr Word kInfinity = 0x7F800000;
constexpr Word kNegative = 0x80000000;

struct Example {
  MmaInstruction instruction;
  StepRules rules;

  explicit Example(DataType operand, DataType accumulator = DataType::kF32, int k = 0)
      : instruction{{16, 8, k > 0 ? k : 128 / numerics::storage_bits(operand)},
                    operand,
                    operand,
                    accumulator,
                    false},
        rules(step_rules("ampere", instruction)) {}

  Word operator()(const std::vector<Word>& a, const std::vector<Word>& b, Word c) const {
    return dot_step(a, b, c, instruction, rules);
  }
  /// Products of two values each, exact in the operand type.
  Word values(const std::vector<double>& a, const std::vector<double>& b, double c) const {
    const auto words = [&](const std::vector<double>& values) {
      std::vector<Word> result;
      for (const double value : values) {
        result.push_back(numerics::from_double(value, instruction.a_type));
        EXPECT_EQ(numerics::to_double(result.back(), instruction.a_type), value);
      }
      return result;
    };
    const Word c_word = numerics::from_double(c, instruction.accumulator);
    EXPECT_EQ(numerics::to_double(c_word, instruction.accumulator), c);
    return (*this)(words(a), words(b), c_word);
  }
};

double two(int exponent) {
  return std::ldexp(1.0, exponent);
}

Word f32(double value) {
  return numerics::from_double(value, DataType::kF32);
}
Word f16(double value) {
  return numerics::from_double(value, DataType::kF16);
}

const Example kF16{DataType::kF16};
const Example kF16ToF16{DataType::kF16, DataType::kF16};
const Example kBf16{DataType::kBf16};
const Example kTf32{DataType::kTf32};

// 1.5 * 1.5 = 2.25 stands at scale 0, 1 * 2.25 and 2.25 * 1 at scale 1. With F = 24 the place of
// 2^-24 survives at scale 0 and is cut at scale 1; two such terms make the place of 2^-23, above
// the last one of a result in [2,4) only together.
TEST(DotStep, TheSameRealProductsCanGiveAnotherResultInAnotherFactorisation) {
  const double tiny = two(-12);
  const std::vector<double> rest_a{tiny, tiny, tiny, tiny};
  const std::vector<double> rest_b{tiny, tiny, tiny, tiny};  // four times 2^-24
  std::vector<double> a{1.5}, b{1.5}, other_a{1}, other_b{2.25};
  for (auto* list : {&a, &other_a}) {
    list->insert(list->end(), rest_a.begin(), rest_a.end());
  }
  for (auto* list : {&b, &other_b}) {
    list->insert(list->end(), rest_b.begin(), rest_b.end());
  }
  EXPECT_EQ(kF16.values(a, b, 0), f32(2.25 + two(-22)));
  EXPECT_EQ(kF16.values(other_a, other_b, 0), f32(2.25));
}

TEST(DotStep, CutsTheMagnitudeOfEveryAddendTowardZero) {
  // 2^-25 is half of the last place kept beside 1: rounding would count two of them, flooring would
  // move the negative.
  const double half_a = two(-12), half_b = two(-13);
  EXPECT_EQ(kF16.values({half_a, half_a}, {half_b, half_b}, 1), f32(1));
  EXPECT_EQ(kF16.values({-half_a, half_a}, {half_b, half_b}, 1), f32(1));
  EXPECT_EQ(kF16.values({-half_a, -half_a}, {half_b, half_b}, 1), f32(1));
  EXPECT_EQ(kF16.values({half_a}, {half_b}, -1), f32(-1));
  // 3 * 2^-25 keeps 2^-24 of either sign: two of them reach the last place of f32.
  EXPECT_EQ(kF16.values({3 * half_a, 3 * half_a}, {half_b, half_b}, 1), f32(1 + two(-23)));
  EXPECT_EQ(kF16.values({-3 * half_a}, {half_b}, 1), f32(1 - two(-24)));
}

TEST(DotStep, CutsTheF32ResultTowardZero) {
  // 1 + 2^-24 lies halfway, 1 + 2^-23 + 2^-24 too: nearest-even would go down and up.
  EXPECT_EQ(kF16.values({two(-12)}, {two(-12)}, 1), f32(1));
  EXPECT_EQ(kF16.values({two(-12)}, {two(-12)}, 1 + two(-23)), f32(1 + two(-23)));
  EXPECT_EQ(kF16.values({-two(-12)}, {two(-12)}, -1 - two(-23)), f32(-1 - two(-23)));
}

TEST(DotStep, RoundsTheF16ResultToNearestEvenOnce) {
  EXPECT_EQ(kF16ToF16.values({two(-5)}, {two(-6)}, 1), f16(1));                       // tie, even
  EXPECT_EQ(kF16ToF16.values({two(-5)}, {two(-6)}, 1 + two(-10)), f16(1 + two(-9)));  // tie, odd
  // A sticky bit thirteen places further down breaks the tie: the sum was not rounded before.
  EXPECT_EQ(kF16ToF16.values({two(-5), two(-12)}, {two(-6), two(-12)}, 1), f16(1 + two(-10)));
  EXPECT_EQ(kF16ToF16.values({-two(-5), -two(-12)}, {two(-6), two(-12)}, -1), f16(-1 - two(-10)));
}

TEST(DotStep, UsesSubnormalsAtTheirFullValueAndUnderflowsGradually) {
  EXPECT_EQ(kF16({0x0001}, {0x0001}, 0), f32(two(-48)));
  EXPECT_EQ(kF16({0x0000}, {0x3C00}, 0x00000001), 0x00000001U) << "an f32 subnormal passes";
  EXPECT_EQ(kBf16.values({two(-75)}, {two(-74)}, 0), 0x00000001U);        // 2^-149
  EXPECT_EQ(kBf16.values({two(-75)}, {two(-75)}, 0), 0x00000000U);        // 2^-150, cut
  EXPECT_EQ(kBf16.values({1.5 * two(-74)}, {two(-73)}, 0), 0x00000006U);  // 1.5 * 2^-147
  EXPECT_EQ(kF16ToF16.values({two(-12)}, {two(-12)}, 0), 0x0001U);        // 2^-24
  EXPECT_EQ(kF16ToF16.values({two(-13)}, {two(-12)}, 0), 0x0000U);        // 2^-25, a tie to even
  EXPECT_EQ(kF16ToF16.values({1.5 * two(-13)}, {two(-12)}, 0), 0x0001U);
}

TEST(DotStep, ANegativeSumThatUnderflowsIsPlusZero) {
  EXPECT_EQ(kBf16.values({-two(-75)}, {two(-75)}, 0), 0U);
  EXPECT_EQ(kF16ToF16.values({-two(-13)}, {two(-12)}, 0), 0U);
}

TEST(DotStep, EveryExactZeroIsPlusZero) {
  EXPECT_EQ(kF16({0x8000}, {0x3C00}, kNegative), 0U);
  EXPECT_EQ(kF16.values({1, -1}, {1, 1}, 0), 0U);
}

TEST(DotStep, ZerosTakeNoPartInTheLargestExponent) {
  // 0 * 2^100 stands at no scale: the small term survives.
  EXPECT_EQ(kBf16.values({0, two(-50)}, {two(100), two(-50)}, 0), f32(two(-100)));
  EXPECT_EQ(kBf16.values({0}, {two(100)}, two(-120)), f32(two(-120)));
}

TEST(DotStep, TheLargestExponentNeverCountsAsLessThanTheFloor) {
  // Units of 2^(-20-24) at f16 output: 2^-44 counts and 2^-45 does not.
  const double half = two(-13) * two(-12);  // 2^-25: a tie that any addend breaks
  ASSERT_EQ(half, two(-25));
  EXPECT_EQ(kF16ToF16.values({two(-13), two(-22)}, {two(-12), two(-22)}, 0), 0x0001U);
  EXPECT_EQ(kF16ToF16.values({two(-13), two(-23)}, {two(-12), two(-22)}, 0), 0x0000U);
  // Units of 2^(-132-24) at f32 output: sums below 2^-149 of terms below 2^-156 vanish term by
  // term.
  std::vector<double> a(8, two(-79)), b(8, two(-78));  // eight times 2^-157 = 2^-154
  EXPECT_EQ(kBf16.values(a, b, 0), 0U);
  EXPECT_EQ(kF16.rules.exponent_floor, -132);
  EXPECT_EQ(kF16ToF16.rules.exponent_floor, -20);
}

TEST(DotStep, OverflowsToInfinityAndNotBefore) {
  EXPECT_EQ(kBf16.values({two(64)}, {two(64)}, 0), kInfinity);
  EXPECT_EQ(kBf16.values({-two(64)}, {two(64)}, 0), kInfinity | kNegative);
  EXPECT_EQ(kBf16.values({two(64), -two(64)}, {two(64), two(64)}, 1), 0U)
      << "sums are not clipped on the way; 1 lies 128 places below";
  EXPECT_EQ(kF16ToF16.values({256}, {255.875}, 0), f16(65504));           // 65504 exactly
  EXPECT_EQ(kF16ToF16.values({256, 4}, {255.875, 3.75}, 0), f16(65504));  // 65519 rounds down
  EXPECT_EQ(kF16ToF16.values({256, 4}, {255.875, 4}, 0), 0x7C00U);        // 65520 is a tie: up
}

TEST(DotStep, NanAndInfinityFollowTheRules) {
  const Word one = 0x3C00, infinity = 0x7C00, nan = 0x7E01, zero = 0;
  EXPECT_EQ(kF16({nan}, {zero}, 0), kNan);
  EXPECT_EQ(kF16({one}, {one}, 0xFF800001), kNan) << "a NaN of C, canonical";
  EXPECT_EQ(kF16({zero}, {infinity}, 0), kNan);
  EXPECT_EQ(kF16({infinity}, {0x8000}, 0), kNan);
  EXPECT_EQ(kF16({infinity}, {one}, 0), kInfinity);
  EXPECT_EQ(kF16({infinity}, {0xBC00}, 0), kInfinity | kNegative);
  EXPECT_EQ(kF16({infinity, infinity}, {one, 0xBC00}, 0), kNan);
  EXPECT_EQ(kF16({infinity}, {one}, kInfinity | kNegative), kNan);
  EXPECT_EQ(kF16({infinity, nan}, {one, one}, 0), kNan);
  EXPECT_EQ(kF16({one}, {one}, kInfinity), kInfinity);
  EXPECT_EQ(kF16ToF16({nan}, {one}, 0), 0x7FFFU);
  EXPECT_EQ(kTf32({0x7F800001}, {0x3F800000}, 0), kInfinity) << "the payload is in bits tf32 drops";
}

TEST(DenseDot, RoundsAfterEveryStep) {
  const Example k16(DataType::kF16, DataType::kF32, 16);
  // The first step leaves 1, its 2^-24 is cut; the same products in one step would meet and reach
  // the last place.
  std::vector<Word> a(16, 0), b(16, 0);
  a[0] = b[0] = f16(two(-12));
  a[8] = b[8] = f16(two(-12));
  EXPECT_EQ(dense_dot(a, b, f32(1), k16.instruction, k16.rules), f32(1));
  std::swap(a[1], a[8]);
  std::swap(b[1], b[8]);
  EXPECT_EQ(dense_dot(a, b, f32(1), k16.instruction, k16.rules), f32(1 + two(-23)));
}

TEST(SparseDot, MultipliesWhatTheMetadataNames) {
  const MmaInstruction sparse{{16, 8, 16}, DataType::kF16, DataType::kF16, DataType::kF32, true};
  const StepRules rules = step_rules("ampere", sparse);
  std::vector<Word> b(8);
  for (int k = 0; k < 8; ++k) {
    b[static_cast<std::size_t>(k)] = f16(two(k));
  }
  const std::vector<Word> a{f16(1), f16(1), f16(1), f16(1)};
  const std::vector<std::uint8_t> nibbles{
      0b1100, 0b1001};  // 0 and 3 of the first group, 1 and 2 of the second
  EXPECT_EQ(sparse_dot(a, nibbles, b, 0, sparse, rules), f32(1 + 8 + 32 + 64));
  b[1] = b[2] = b[4] = b[7] = 0x7E00;  // NaN where nobody looks
  EXPECT_EQ(sparse_dot(a, nibbles, b, 0, sparse, rules), f32(1 + 8 + 32 + 64));
}

TEST(SparseDot, MixesHalvesOfTwoTf32WordsAsTheMetadataNamesThem) {
  const MmaInstruction sparse{{16, 8, 8}, DataType::kTf32, DataType::kTf32, DataType::kF32, true};
  const StepRules rules = step_rules("hopper", sparse);
  // Halves 0 to 3: 0x2000, 0x3F80, 0x6000, 0x4000. The second index names the upper half.
  const std::vector<Word> b{0x3F802000, 0x40006000};
  const auto selected = [&](std::uint8_t nibble) {
    return sparse_dot(std::vector{f32(1)}, std::vector{nibble}, b, 0, sparse, rules);
  };
  EXPECT_EQ(selected(0b0100), b[0]);
  EXPECT_EQ(selected(0b1110), b[1]);
  EXPECT_EQ(selected(0b0110), 0x3F806000U);
  EXPECT_EQ(selected(0b1100), 0x40002000U);
  EXPECT_EQ(selected(0b0001), 0x20002000U) << "0x20003F80 without the low bits that tf32 drops";
}

}  // namespace
}  // namespace sptc::mma
