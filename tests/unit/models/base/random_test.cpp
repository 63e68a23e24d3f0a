// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace sptc::base {
namespace {

// The golden words were computed by a separate transcription of the definition with unbounded
// integers.
TEST(RandomStream, GivesTheSameWordsOnEveryPlatform) {
  const RandomStream stream(1);
  EXPECT_EQ(stream.bits(0), 0x672BF35EE2B5923EULL);
  EXPECT_EQ(stream.bits(1), 0x65742C76D197241BULL);
  EXPECT_EQ(stream.bits(2), 0xD97D4205FDAB0823ULL);
  EXPECT_EQ(stream.fork("A").bits(0), 0x49D801BDD06FA52DULL);
  EXPECT_EQ(stream.normal(0), 0x1.e1b8p-2);
  EXPECT_EQ(stream.normal(7), -0x1.feecp-2);
  const std::array<std::uint64_t, 8> below_ten{4, 3, 8, 4, 7, 6, 7, 0};
  for (std::size_t i = 0; i < below_ten.size(); ++i) {
    EXPECT_EQ(stream.below(i, 10), below_ten[i]);
  }
}

// First output of the reference splitmix64.c of Sebastiano Vigna for state 0.
TEST(MixBits, IsTheFinaliserOfSplitMix64) {
  EXPECT_EQ(mix_bits(0), 0xE220A8397B1DCDAFULL);
}

TEST(RandomStream, SharesNoElementsBetweenSmallSeeds) {
  for (std::uint64_t a = 0; a < 16; ++a) {
    for (std::uint64_t b = 0; b < 16; ++b) {
      EXPECT_TRUE(a == b || RandomStream(a).bits(b) != RandomStream(b).bits(a)) << a << ", " << b;
    }
  }
}

TEST(RandomStream, ForksByLabel) {
  const RandomStream stream(5);
  EXPECT_EQ(stream.fork("weight").bits(3), stream.fork("weight").bits(3));
  EXPECT_NE(stream.fork("weight").bits(3), stream.fork("input").bits(3));
  EXPECT_NE(stream.fork("ab").bits(0), stream.fork("ba").bits(0));
  EXPECT_NE(stream.fork("a").bits(0), stream.fork("a").fork("a").bits(0));
}

TEST(RandomStream, BelowIsUniform) {
  constexpr std::uint64_t kBound = 8;
  constexpr int kDraws = 80'000;
  constexpr int kEach = 10'000;  // kDraws / kBound
  const RandomStream stream(11);
  std::array<int, kBound> counts{};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::uint64_t value = stream.below(i, kBound);
    ASSERT_LT(value, kBound);
    ++counts[value];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, kEach, 500);  // five standard deviations of 94
  }
  EXPECT_EQ(stream.below(0, 1), 0U);
}

TEST(RandomStream, NormalHasTheMomentsOfTheStandardNormal) {
  constexpr int kDraws = 200'000;
  const RandomStream stream(3);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = stream.normal(i);
    ASSERT_LT(std::fabs(x), 6.0);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
  EXPECT_NEAR(fourth / kDraws, 2.9, 0.1);  // kurtosis of twelve uniforms: 3 - 6/(5*12)
}

}  // namespace
}  // namespace sptc::base
