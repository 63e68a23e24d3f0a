// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"

#include <gtest/gtest.h>

#include <array>

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

TEST(RandomStream, ForksByLabel) {
  const RandomStream stream(5);
  EXPECT_EQ(stream.fork("weight").bits(3), stream.fork("weight").bits(3));
  EXPECT_NE(stream.fork("weight").bits(3), stream.fork("input").bits(3));
  EXPECT_NE(stream.fork("ab").bits(0), stream.fork("ba").bits(0));
  EXPECT_NE(stream.fork("a").bits(0), stream.fork("a").fork("a").bits(0));
}

}  // namespace
}  // namespace sptc::base
