// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"

#include "models/numerics/data_type_info.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace sptc::numerics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The float that the upper bits of a binary32 are: an oracle for bf16, tf32 and f32 that shares no
/// code with the codec.
double as_binary32(Word word) {
  return std::bit_cast<float>(word);
}

void expect_round_trip(Word word, DataType type) {
  const double value = to_double(word, type);
  if (std::isnan(value)) {
    EXPECT_EQ(from_double(value, type), canonical_nan(*info(type).format)) << std::hex << word;
  } else {
    EXPECT_EQ(from_double(value, type), word) << std::hex << word;
  }
}

TEST(F16Codec, RoundTripsAll65536Patterns) {
  for (Word word = 0; word < 0x10000; ++word) {
    expect_round_trip(word, DataType::kF16);
  }
}

TEST(F16Codec, DecodesByTheDefinitionOfBinary16) {
  EXPECT_EQ(to_double(0x3C00, DataType::kF16), 1.0);
  EXPECT_EQ(to_double(0xC500, DataType::kF16), -5.0);
  EXPECT_EQ(to_double(0x7BFF, DataType::kF16), 65504.0);
  EXPECT_EQ(to_double(0x0400, DataType::kF16), 0x1p-14);
  EXPECT_EQ(to_double(0x0001, DataType::kF16), 0x1p-24);
  EXPECT_EQ(to_double(0x03FF, DataType::kF16), 1023 * 0x1p-24);
  EXPECT_EQ(to_double(0x7C00, DataType::kF16), kInfinity);
  EXPECT_EQ(to_double(0xFC00, DataType::kF16), -kInfinity);
  EXPECT_TRUE(std::isnan(to_double(0x7C01, DataType::kF16)));
  EXPECT_TRUE(std::signbit(to_double(0x8000, DataType::kF16)));
}

TEST(Bf16Codec, RoundTripsAll65536PatternsAndEqualsTheUpperHalfOfBinary32) {
  for (Word word = 0; word < 0x10000; ++word) {
    expect_round_trip(word, DataType::kBf16);
    const double expected = as_binary32(word << 16);
    const double value = to_double(word, DataType::kBf16);
    EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << std::hex << word;
  }
}

TEST(Tf32Codec, RoundTripsEveryPatternOfItsNineteenBits) {
  for (Word pattern = 0; pattern < (Word{1} << 19); ++pattern) {
    const Word word = pattern << 13;
    expect_round_trip(word, DataType::kTf32);
    const double expected = as_binary32(word);
    const double value = to_double(word, DataType::kTf32);
    ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << std::hex << word;
  }
}

TEST(Tf32Codec, ReadsNothingOfTheLowThirteenBits) {
  EXPECT_EQ(to_double(0x3F801FFF, DataType::kTf32), 1.0);
  EXPECT_EQ(to_double(0x00001FFF, DataType::kTf32), 0.0);
  // A NaN whose payload is only in the discarded bits is read as infinity.
  EXPECT_EQ(to_double(0x7F800001, DataType::kTf32), kInfinity);
  EXPECT_EQ(to_double(0xFF801FFF, DataType::kTf32), -kInfinity);
}

TEST(Tf32Codec, RoundsEachFloatAsCvtRnaDoes) {
  // cvt.rna.tf32.f32 of a finite number adds half a step to the bits and cuts.
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    Word word = static_cast<Word>(state >> 32);
    word = i % 4 == 0 ? (word & 0xFFFFE000U) | 0x1000U : word;  // ties
    if ((word & 0x7F800000U) != 0x7F800000U) {
      ASSERT_EQ(from_double(as_binary32(word), DataType::kTf32), (word + 0x1000U) & 0xFFFFE000U) << std::hex << word;
    }
  }
}

/// A tie halfway between two neighbours of a type, and the word that its conversion gives.
struct Tie {
  DataType type;
  double value;
  Word word;
};

TEST(Conversion, RoundsTiesOfEveryOperandTypeAsTheModelsPageSays) {
  for (const Tie& tie : {
           Tie{DataType::kF16, 1 + 0x1p-11, 0x3C00},
           Tie{DataType::kF16, 1 + 0x3p-11, 0x3C02},
           Tie{DataType::kBf16, 1 + 0x1p-8, 0x3F80},
           Tie{DataType::kBf16, 1 + 0x3p-8, 0x3F82},
           Tie{DataType::kTf32, 1 + 0x1p-11, 0x3F802000},
           Tie{DataType::kTf32, 1 + 0x3p-11, 0x3F804000},
           Tie{DataType::kF32, 1 + 0x1p-24, 0x3F800000},
           Tie{DataType::kF32, 1 + 0x3p-24, 0x3F800002},
           Tie{DataType::kE4m3, 1.0625, 0x38},
           Tie{DataType::kE4m3, 1.1875, 0x3A},
           Tie{DataType::kE5m2, 1.125, 0x3C},
           Tie{DataType::kE5m2, 1.375, 0x3E},
           Tie{DataType::kE3m2, 1.125, 0x0C},
           Tie{DataType::kE3m2, 1.375, 0x0E},
           Tie{DataType::kE2m3, 1.0625, 0x08},
           Tie{DataType::kE2m3, 1.1875, 0x0A},
           Tie{DataType::kE2m1, 1.25, 0x2},
           Tie{DataType::kE2m1, 1.75, 0x4},
           Tie{DataType::kS8, 2.5, 2},
           Tie{DataType::kS8, -3.5, 0xFC},
           Tie{DataType::kU8, 2.5, 2},
           Tie{DataType::kU8, 3.5, 4},
           Tie{DataType::kS4, 2.5, 2},
           Tie{DataType::kS4, -3.5, 0xC},
           Tie{DataType::kU4, 2.5, 2},
           Tie{DataType::kU4, 3.5, 4},
       }) {
    EXPECT_EQ(from_double(tie.value, tie.type), tie.word) << name(tie.type) << " " << tie.value;
  }
}

TEST(F32Codec, AgreesWithTheHostOnEveryExponentAndSign) {
  for (Word top = 0; top < 0x200; ++top) {
    for (const Word mantissa : {0U, 1U, 0x2AAAAAU, 0x400000U, 0x7FFFFFU}) {
      const Word word = top << 23 | mantissa;
      const double expected = as_binary32(word);
      const double value = to_double(word, DataType::kF32);
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)));
      expect_round_trip(word, DataType::kF32);
    }
  }
}

TEST(F32Codec, RoundsDoublesAsTheHostDoes) {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Exponents from far below the subnormals of f32 to far above its overflow.
    const int exponent = static_cast<int>(state >> 32 & 0x1FF) - 256;
    const double value = std::ldexp(static_cast<double>(state >> 11), exponent - 53);
    const Word expected = std::bit_cast<Word>(static_cast<float>(value));
    ASSERT_EQ(from_double(value, DataType::kF32), expected) << value;
    ASSERT_EQ(from_double(-value, DataType::kF32), expected | 0x80000000U) << value;
  }
}

TEST(CanonicalNan, HasAllBitsOneButTheSign) {
  EXPECT_EQ(canonical_nan(kF16Format), 0x7FFFU);
  EXPECT_EQ(canonical_nan(kF32Format), 0x7FFFFFFFU);
  EXPECT_EQ(from_double(-kNan, DataType::kF16), 0x7FFFU);
  EXPECT_EQ(from_double(kNan, DataType::kF32), 0x7FFFFFFFU);
}

TEST(S8Codec, RoundTripsAll256Patterns) {
  for (Word word = 0; word < 0x100; ++word) {
    EXPECT_EQ(to_double(word, DataType::kS8), static_cast<std::int8_t>(word));
    expect_round_trip(word, DataType::kS8);
  }
}

TEST(S8Codec, SaturatesAndRoundsToEven) {
  EXPECT_EQ(from_double(127.5, DataType::kS8), 0x7FU);
  EXPECT_EQ(from_double(1e10, DataType::kS8), 0x7FU);
  EXPECT_EQ(from_double(-129.0, DataType::kS8), 0x80U);
  EXPECT_EQ(from_double(-kInfinity, DataType::kS8), 0x80U);
  EXPECT_EQ(from_double(kNan, DataType::kS8), 0U);
  EXPECT_EQ(from_double(2.5, DataType::kS8), 2U);
  EXPECT_EQ(from_double(3.5, DataType::kS8), 4U);
  EXPECT_EQ(from_double(-0.4, DataType::kS8), 0U);
}

TEST(S32Codec, SaturatesAndKeepsTheExtremes) {
  EXPECT_EQ(from_double(2147483647.0, DataType::kS32), 0x7FFFFFFFU);
  EXPECT_EQ(from_double(2147483648.0, DataType::kS32), 0x7FFFFFFFU);
  EXPECT_EQ(from_double(-2147483649.0, DataType::kS32), 0x80000000U);
  EXPECT_EQ(to_double(0x80000000U, DataType::kS32), -2147483648.0);
  EXPECT_EQ(to_double(0xFFFFFFFFU, DataType::kS32), -1.0);
}

}  // namespace
}  // namespace sptc::numerics
