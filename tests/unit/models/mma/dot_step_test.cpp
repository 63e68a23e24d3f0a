// SPDX-License-Identifier: Apache-2.0
// Worked examples of the step arithmetic of an A100: each result was computed by hand.
#include "models/mma/dot_step.h"

#include "models/numerics/codec.h"

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

  explicit Example(DataType operand, DataType accumulator = DataType::kF32)
      : instruction{{16, 8, 128 / numerics::storage_bits(operand)}, operand, operand, accumulator, false},
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

TEST(DotStep, ZerosTakeNoPartInTheLargestExponent) {
  // 0 * 2^100 stands at no scale: the small term survives.
  EXPECT_EQ(kBf16.values({0, two(-50)}, {two(100), two(-50)}, 0), f32(two(-100)));
  EXPECT_EQ(kBf16.values({0}, {two(100)}, two(-120)), f32(two(-120)));
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
