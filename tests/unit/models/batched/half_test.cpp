// SPDX-License-Identifier: Apache-2.0
#include "models/batched/half.h"

#include "models/numerics/codec.h"

#include <gtest/gtest.h>

namespace sptc::batched {
namespace {

using numerics::DataType;

TEST(Half, WidensAndNarrowsEveryWordExactly) {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const std::uint32_t wide = widen_half(word);
    const bool nan = (word & 0x7FFFU) > 0x7C00U;
    if (nan) {
      EXPECT_GT(wide & 0x7FFFFFFFU, 0x7F800000U);
      EXPECT_EQ(narrow_half(wide), 0x7FFFU);
    } else {
      EXPECT_EQ(numerics::to_double(wide, DataType::kF32), numerics::to_double(word, DataType::kF16));
      EXPECT_EQ(narrow_half(wide), word);
    }
  }
}

TEST(Half, RoundsToNearestEvenAsTheCodecDoes) {
  std::uint32_t word = 0x33000000U;  // 2^-25: half of the smallest f16
  for (; word < 0x47900000U; word += 0x1FFU) {
    EXPECT_EQ(narrow_half(word), numerics::from_double(numerics::to_double(word, DataType::kF32), DataType::kF16))
        << std::hex << word;
  }
  EXPECT_EQ(narrow_half(0x33000000U), 0U);  // tie to even
  EXPECT_EQ(narrow_half(0x33000001U), 1U);
  EXPECT_EQ(narrow_half(0x477FEFFFU), 0x7BFFU);  // below 65520
  EXPECT_EQ(narrow_half(0xC77FF000U), 0xFC00U);  // -65520
  EXPECT_EQ(narrow_half(0x00000001U), 0U);
}

}  // namespace
}  // namespace sptc::batched
