// SPDX-License-Identifier: Apache-2.0
// A format of one's own as data: the example of sim/EXTENDING.md.
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sptc::numerics {
namespace {

/// Five bits: a sign, three of the exponent, one of the mantissa; no infinity and no NaN.
constexpr FloatFormat kE3m1Format{3, 1, SpecialEncoding::kNone};

double value_of(Word bits) {
  const Unpacked number = unpack(bits, kE3m1Format);
  const double magnitude = std::ldexp(number.significand, number.exponent - kE3m1Format.mantissa_bits);
  return number.negative ? -magnitude : magnitude;
}

TEST(AddedFormat, HasTheNumbersOfItsFields) {
  EXPECT_EQ(kE3m1Format.storage_bits(), 5);
  EXPECT_EQ(value_of(0b0'000'1), 0.125);  // the smallest: subnormal
  EXPECT_EQ(value_of(0b0'011'0), 1);
  EXPECT_EQ(value_of(0b1'011'1), -1.5);
  EXPECT_EQ(value_of(0b0'111'1), 24);                   // the largest
  EXPECT_EQ(infinity(kE3m1Format, false), 0b0'111'1U);  // overflow has nothing else
}

TEST(AddedFormat, IsInOrder) {
  for (Word bits = 1; bits < 0b1'0000; ++bits) {
    EXPECT_GT(value_of(bits), value_of(bits - 1)) << bits;
  }
}

}  // namespace
}  // namespace sptc::numerics
