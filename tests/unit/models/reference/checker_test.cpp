// SPDX-License-Identifier: Apache-2.0
#include "models/reference/checker.h"

#include "models/numerics/codec.h"
#include "tests/unit/models/reference/checked_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace sptc::reference {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr DataType kFloats[] = {DataType::kF16, DataType::kBf16, DataType::kTf32};

TEST(Checker, AcceptsThePlainArithmeticWhereEveryTruncationHasTheSameSign) {
  // Non-negative operands: all errors add up, and at K = 16384 they reach a good part of the bound.
  for (const DataType type : kFloats) {
    const Findings findings = Gemm(type, 4, 4, 16384, non_negative(3), non_negative(4)).check();
    EXPECT_EQ(findings.mismatches, 0) << name(type);
    EXPECT_GT(findings.worst_ratio, 0.2) << "the bound is not tight: " << name(type);
  }
}

TEST(Checker, AcceptsThePlainArithmeticOnSubnormalOperandsAndResults) {
  // f16 subnormals keep exponent -14: they raise the window above what their values suggest.
  const Generator tiny_f16 = [s = base::RandomStream(5)](std::uint64_t i) { return std::ldexp(s.normal(i), -20); };
  EXPECT_EQ(Gemm(DataType::kF16, 8, 8, 256, tiny_f16, tiny_f16).check().mismatches, 0);
  EXPECT_EQ(Gemm(DataType::kF16, 8, 8, 256, tiny_f16, normal(6)).check().mismatches, 0);
  EXPECT_EQ(Gemm(DataType::kF16, 8, 8, 256, normal(6), tiny_f16).check().mismatches, 0);
  // bf16: subnormal operands, and results below 2^-126.
  for (const int exponent : {-130, -75, -66, -63}) {
    const Generator tiny = [s = base::RandomStream(7), exponent](std::uint64_t i) {
      return std::ldexp(s.normal(i), exponent);
    };
    EXPECT_EQ(Gemm(DataType::kBf16, 8, 8, 64, tiny, tiny).check().mismatches, 0) << exponent;
    EXPECT_EQ(Gemm(DataType::kBf16, 8, 8, 64, tiny, normal(8)).check().mismatches, 0) << exponent;
  }
}

TEST(Checker, HasABoundThatTheWorstCaseNearlyReaches) {
  // The accumulator stays 1; in every step all eight products lose nearly one unit of 2^-24 each to
  // the alignment, and the rounding takes the unit that is left. The bound allows (8 + 1) + 2
  // units.
  const Generator a = [](std::uint64_t k) {
    const double below_one = 2047.0 / 2048;
    return k == 0 ? 1.0 : (k < 8 ? 0.0 : (k % 8 == 0 ? 2 : 1) * below_one * 0x1p-12);
  };
  const Generator b = [](std::uint64_t k) { return k == 0 ? 1.0 : 0x1p-12; };
  const Gemm gemm(DataType::kF16, 1, 1, 4096, a, b);
  EXPECT_EQ(gemm.d(0, 0), 0x3F800000u);
  const Findings findings = gemm.check();
  EXPECT_EQ(findings.mismatches, 0);
  EXPECT_NEAR(findings.worst_ratio, 9.0 / 11, 0.01);
}

TEST(Checker, KnowsThatSubnormalOperandsRaiseTheWindow) {
  // 2^-24 is a subnormal of exponent -14: times 2^15 the product is 2^-9, but the window sits at
  // 2^1, and the other seven products vanish below its last bit 2^-23.
  const Generator subnormal_side = [](std::uint64_t k) { return k == 0 ? 0x1p-24 : 2047.0 / 2048 * 0x1p-12; };
  const Generator large_side = [](std::uint64_t k) { return k == 0 ? 0x1p15 : 0x1p-11; };
  for (const bool swapped : {false, true}) {
    const Gemm gemm(DataType::kF16, 1, 1, 8, swapped ? large_side : subnormal_side,
                    swapped ? subnormal_side : large_side);
    EXPECT_EQ(numerics::to_double(gemm.d(0, 0), DataType::kF32), 0x1p-9);
    EXPECT_EQ(gemm.check().mismatches, 0);
  }
}

TEST(Checker, DoesNotFlagOneUnitInTheLastPlace) {
  Gemm gemm(DataType::kF16, 8, 8, 64, normal(13), normal(14));
  for (std::size_t i = 0; i < gemm.d.size(); ++i) {
    gemm.d.data()[i] ^= 1;
  }
  EXPECT_EQ(gemm.check().mismatches, 0);
}

TEST(Checker, ComparesBitsWhereAsked) {
  const Gemm gemm(DataType::kF16, 8, 8, 64, normal(13), normal(14));
  base::Matrix<Word> changed = gemm.d;
  changed(5, 6) ^= 1;
  const Findings findings = check_bits(changed, gemm.d, DataType::kF32);
  EXPECT_EQ(findings.mismatches, 1);
  ASSERT_TRUE(findings.first_violation);
  EXPECT_EQ(findings.first_violation->row, 5u);
  EXPECT_EQ(findings.first_violation->col, 6u);
  EXPECT_EQ(findings.first_violation->got, changed(5, 6));
  EXPECT_EQ(findings.first_violation->expected, gemm.d(5, 6));
  EXPECT_GT(findings.worst_error, 0);
  EXPECT_EQ(check_bits(gemm.d, gemm.d, DataType::kF32).mismatches, 0);
}

TEST(Checker, RequiresExactlyZeroWhereNoProductIsNonZero) {
  Gemm gemm(
      DataType::kF16, 4, 4, 32, [](std::uint64_t) { return 0.0; }, normal(15));
  EXPECT_EQ(gemm.check().mismatches, 0);
  gemm.d(2, 1) = 1;  // 2^-149
  const Findings findings = gemm.check();
  EXPECT_EQ(findings.mismatches, 1);
  EXPECT_EQ(findings.bound_at_worst, 0);
}

TEST(Checker, IsExactOnIntegersAndWrapsThem) {
  const Generator large = [](std::uint64_t i) { return i % 3 == 0 ? -128.0 : 127.0; };
  Gemm gemm(DataType::kS8, 4, 4, 4096, large, large);
  EXPECT_EQ(gemm.check().mismatches, 0);
  gemm.d(0, 3) += 1;
  EXPECT_EQ(gemm.check().mismatches, 1);

  // -128 * -128 * 2^17 = 2^31 wraps to -2^31.
  const Generator lowest = [](std::uint64_t) { return -128.0; };
  Gemm wrapping(DataType::kS8, 1, 1, 1 << 17, lowest, lowest);
  EXPECT_EQ(wrapping.d(0, 0), 0x80000000u);
  EXPECT_EQ(wrapping.check().mismatches, 0);
}

TEST(Checker, MatchesNanAndInfinityByClass) {
  Gemm gemm(DataType::kF16, 4, 4, 32, normal(16), normal(17));
  const double infinity = std::numeric_limits<double>::infinity();
  gemm.a(0, 3) = numerics::from_double(infinity, DataType::kF16);
  gemm.a(1, 5) = numerics::from_double(std::nan(""), DataType::kF16);
  gemm.b_columns(2, 3) = 0;  // 0 * infinity is NaN
  gemm.compute();
  EXPECT_EQ(gemm.check().mismatches, 0);

  const Word right = gemm.d(0, 0);
  gemm.d(0, 0) ^= 0x80000000u;  // infinity of the wrong sign
  EXPECT_EQ(gemm.check().mismatches, 1);
  gemm.d(0, 0) = right;
  gemm.d(1, 1) = 0;  // a number where NaN belongs
  EXPECT_EQ(gemm.check().mismatches, 1);
  gemm.d(1, 1) = 0xFFC00001;  // another NaN
  EXPECT_EQ(gemm.check().mismatches, 0);
  gemm.d(3, 3) = 0x7FFFFFFF;  // NaN where a number belongs
  EXPECT_EQ(gemm.check().mismatches, 1);
}

TEST(Checker, IgnoresSpecialValuesThatNoIndexSelects) {
  Gemm gemm(
      DataType::kF16, 1, 1, 8, [](std::uint64_t i) { return i % 4 < 2 ? 1.0 : 0.0; },
      [](std::uint64_t) { return 1.0; });
  gemm.b_columns(0, 3) = 0x7C00;  // infinity against a zero that is left out
  gemm.d(0, 0) = numerics::from_double(4, DataType::kF32);
  EXPECT_EQ(gemm.check().mismatches, 1) << "dense: 0 * infinity is NaN";
  base::Matrix<std::uint8_t> selected(1, 8);
  for (const std::size_t k : {0, 1, 4, 5}) {
    selected(0, k) = 1;
  }
  GemmInputs inputs = gemm.inputs();
  inputs.selected = &selected;
  EXPECT_EQ(check_against_reference(inputs, gemm.arithmetic, gemm.d, DataType::kF32).mismatches, 0);
}

TEST(Checker, CountsPossibleOverflowApart) {
  const Generator huge = [](std::uint64_t) { return 0x1p64; };
  Gemm gemm(DataType::kBf16, 1, 1, 16, huge, huge);
  const Findings findings = gemm.check();
  EXPECT_EQ(findings.undecided, 1);
  EXPECT_EQ(findings.mismatches, 0);
  EXPECT_EQ(findings.elements, 1);
}

TEST(Checker, AddsFindingsAndKeepsTheFirstViolation) {
  Findings first;
  first.elements = 4;
  first.worst_error = 1;
  first.bound_at_worst = 2;
  first.worst_ratio = 0.5;
  Findings second;
  second.elements = 2;
  second.mismatches = 1;
  second.worst_error = 3;
  second.bound_at_worst = 1;
  second.worst_ratio = 3;
  second.first_violation = Violation{7, 8, 1, 2};
  first.add(second);
  EXPECT_EQ(first.elements, 6);
  EXPECT_EQ(first.mismatches, 1);
  EXPECT_EQ(first.worst_error, 3);
  EXPECT_EQ(first.bound_at_worst, 1);
  EXPECT_EQ(first.first_violation->row, 7u);
}

}  // namespace
}  // namespace sptc::reference
