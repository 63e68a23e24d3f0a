// SPDX-License-Identifier: Apache-2.0
//
// The formats below 16 bits: every bit pattern, and the values that their specifications list.
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace sptc::numerics {
namespace {

constexpr DataType kFloats[] = {DataType::kE4m3, DataType::kE5m2, DataType::kE3m2, DataType::kE2m3, DataType::kE2m1};
constexpr DataType kIntegers[] = {DataType::kS8, DataType::kU8, DataType::kS4, DataType::kU4};

TEST(SmallFormats, SurviveTheWayThroughDouble) {
  for (const DataType type : kFloats) {
    for (Word bits = 0; bits < Word{1} << storage_bits(type); ++bits) {
      const double value = to_double(bits, type);
      if (std::isnan(value)) {
        EXPECT_EQ(from_double(value, type), canonical_nan(*info(type).format));
      } else {
        EXPECT_EQ(from_double(value, type), bits) << name(type);
      }
    }
  }
  for (const DataType type : kIntegers) {
    for (Word bits = 0; bits < Word{1} << storage_bits(type); ++bits) {
      EXPECT_EQ(from_double(to_double(bits, type), type), bits) << name(type);
    }
  }
}

TEST(SmallFormats, HaveTheExtremesOfTheirSpecifications) {
  EXPECT_EQ(to_double(0x7E, DataType::kE4m3), 448);
  EXPECT_TRUE(std::isnan(to_double(0x7F, DataType::kE4m3)));
  EXPECT_TRUE(std::isnan(to_double(0xFF, DataType::kE4m3)));
  EXPECT_EQ(to_double(0x01, DataType::kE4m3), 0x1p-9);
  EXPECT_EQ(to_double(0x7B, DataType::kE5m2), 57344);
  EXPECT_TRUE(std::isinf(to_double(0x7C, DataType::kE5m2)));
  EXPECT_EQ(to_double(0x01, DataType::kE5m2), 0x1p-16);
  EXPECT_EQ(to_double(0x1F, DataType::kE3m2), 28);
  EXPECT_EQ(to_double(0x1F, DataType::kE2m3), 7.5);
  EXPECT_EQ(to_double(0x07, DataType::kE2m1), 6);
  EXPECT_EQ(to_double(0x01, DataType::kE2m1), 0.5);
}

TEST(SmallFormats, OverflowToNanToInfinityOrToTheLargestNumber) {
  EXPECT_EQ(from_double(1e9, DataType::kE4m3), 0x7FU);
  EXPECT_EQ(from_double(-1e9, DataType::kE5m2), 0xFCU);
  EXPECT_EQ(from_double(1e9, DataType::kE2m1), 0x07U);
  EXPECT_EQ(from_double(-1e9, DataType::kE3m2), 0x3FU);
}

TEST(SmallFormats, IntegersSaturateAndIgnoreBitsAboveThem) {
  EXPECT_EQ(from_double(300, DataType::kU8), 0xFFU);
  EXPECT_EQ(from_double(-3, DataType::kU8), 0U);
  EXPECT_EQ(from_double(-9, DataType::kS4), 0x8U);
  EXPECT_EQ(to_integer(0xF8, DataType::kS4), -8);
  EXPECT_EQ(to_integer(0xF8, DataType::kU4), 8);
  EXPECT_EQ(to_integer(0x80000000, DataType::kS32), -2147483648LL);
}

TEST(Ue8m0, IsAPowerOfTwoWithABiasOf127AndOneNan) {
  for (const auto& [byte, exponent] : {std::pair(0U, -127), {127U, 0}, {254U, 127}}) {
    const Unpacked scale = unpack_scale(byte, ScaleType::kUe8m0);
    EXPECT_EQ(scale.kind, Unpacked::Class::kFinite);
    EXPECT_EQ(scale.significand, 1U);
    EXPECT_EQ(scale.exponent, exponent);
  }
  EXPECT_EQ(unpack_scale(255, ScaleType::kUe8m0).kind, Unpacked::Class::kNan);
}

TEST(Ue4m3, IsE4m3WithoutItsSign) {
  for (Word byte = 0; byte < 256; ++byte) {
    const Unpacked scale = unpack_scale(byte, ScaleType::kUe4m3);
    EXPECT_FALSE(scale.negative);
    const double value = std::fabs(to_double(byte, DataType::kE4m3));
    EXPECT_EQ(scale.kind == Unpacked::Class::kNan, std::isnan(value)) << byte;
    if (!std::isnan(value)) {
      EXPECT_EQ(std::ldexp(scale.significand, scale.exponent - mantissa_bits(ScaleType::kUe4m3)), value);
    }
  }
  EXPECT_EQ(unpack_scale(0, ScaleType::kUe4m3).exponent, -6);
}

}  // namespace
}  // namespace sptc::numerics
