// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/compress.h"

#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <set>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr DataType kF16 = DataType::kF16;
constexpr DataType kTf32 = DataType::kTf32;
constexpr DataType kS8 = DataType::kS8;
constexpr Pattern kTwoOfFour{2, 4, 1};
constexpr Pattern kOneOfTwo{1, 2, 1};
constexpr Pattern kPairs{4, 8, 2};

TEST(Compress, FillsUnderFullGroupsWithTheSmallestUnusedIndices) {
  const CompressedMatrix compressed =
      compress(words({{0, 0, 0, 0}, {7, 0, 0, 0}, {0, 7, 0, 0}, {0, 0, 7, 0}, {0, 0, 0, 7}}, kS8), kS8);
  EXPECT_EQ(compressed.nibbles, nibbles({{0x4}, {0x4}, {0x4}, {0x8}, {0xC}}));
  EXPECT_EQ(compressed.values, words({{0, 0}, {7, 0}, {0, 7}, {0, 7}, {0, 7}}, kS8));
}

TEST(Compress, RefusesAGroupWithTooManyNonZerosByItsPlaceAndValues) {
  EXPECT_EQ(refusal([] {
              compress(words({{1, 2, 0, 0, 0, 0, 0, 0}, {1, 2, 0, 0, 1, -2.5, 0, 4}}, kF16), kF16);
            }),
            "the matrix is not 2:4 sparse as f16 needs it: row 1, group 1 (columns 4 to 7) holds "
            "(1, -2.5, 0, 4), more than 2 non-zeros");
}

TEST(Compress, RefusesAMatrixThatIsTwoOfFourButNotOneOfTwoAsTf32) {
  const auto two_of_four = [](DataType type) { return words({{0, 0, 3, 4, 1, 0, 0, 2}}, type); };
  EXPECT_NO_THROW(compress(two_of_four(kF16), kF16));
  EXPECT_EQ(refusal([&] { compress(two_of_four(kTf32), kTf32); }),
            "the matrix is 2:4 but not 1:2 sparse, and tf32 needs 1:2: row 0, group 1 (columns 2 to "
            "3) holds (3, 4); prune it 1:2 or use a 16-bit type");
}

TEST(Compress, SaysOfAMatrixThatIsNeitherPatternOnlyThatItIsNotOneOfTwo) {
  EXPECT_EQ(refusal([] {
              compress(words({{1, 2, 3, 0}}, kTf32), kTf32);
            }),
            "the matrix is not 1:2 sparse as tf32 needs it: row 0, group 0 (columns 0 to 1) holds "
            "(1, 2), more than 1 non-zero");
  EXPECT_EQ(refusal([] {
              compress(words({{1, 0, 0, 0, 1, 2}}, kTf32), kTf32);
            }),
            "the matrix is not 1:2 sparse as tf32 needs it: row 0, group 2 (columns 4 to 5) holds "
            "(1, 2), more than 1 non-zero");
}

TEST(Compress, RefusesADepthThatIsNoMultipleOfTheGroup) {
  EXPECT_EQ(refusal([] { compress(base::Matrix<Word>(2, 6), kF16); }),
            "k = 6 cannot be 2:4 sparse: it must be a multiple of 4");
  EXPECT_THROW(compress(base::Matrix<Word>(2, 3), kTf32), base::InputError);
}

TEST(Compress, RefusesTypesThatAreNoOperands) {
  EXPECT_THROW(compress(base::Matrix<Word>(1, 4), DataType::kF32), base::InputError);
}

TEST(Compress, TakesNegativeZeroForZeroAndDropsItsSign) {
  const base::Matrix<Word> dense = words({{-0.0, 1, -0.0, 2}, {-0.0, -0.0, 3, -0.0}}, kF16);
  const CompressedMatrix compressed = compress(dense, kF16);
  EXPECT_EQ(compressed.values, words({{1, 2}, {0.0, 3}}, kF16));
  EXPECT_EQ(decompress(compressed), words({{0, 1, 0, 2}, {0, 0, 3, 0}}, kF16));
}

TEST(Compress, TakesTf32WithOnlyDiscardedBitsForZero) {
  base::Matrix<Word> dense = words({{0, 1}}, kTf32);
  dense(0, 0) = 0x1FFF;
  EXPECT_EQ(compress(dense, kTf32).nibbles, nibbles({{0xE}}));
}

TEST(FindViolation, CountsRunsAndNotElementsWherePairsAreKept) {
  EXPECT_FALSE(find_violation(words({{1, 1, 0, 0, 0, 0, 1, 1}}, kS8), kS8, kPairs));
  EXPECT_TRUE(find_violation(words({{1, 0, 1, 0, 0, 0, 1, 0}}, kS8), kS8, kPairs));
}

CompressedMatrix one_group(std::uint8_t nibble, const Pattern& pattern, DataType type) {
  const auto kept = static_cast<std::size_t>(pattern.kept);
  CompressedMatrix matrix{.type = type,
                          .pattern = pattern,
                          .logical_k = static_cast<std::size_t>(pattern.group),
                          .values = base::Matrix<Word>(1, kept),
                          .nibbles = nibbles({{nibble}})};
  for (std::size_t i = 0; i < kept; ++i) {
    matrix.values(0, i) = static_cast<Word>(i + 1);
  }
  return matrix;
}

TEST(Decompress, RefusesEqualIndicesInTwoOfFour) {
  const std::set<int> invalid{0x0, 0x5, 0xA, 0xF};
  for (int nibble = 0; nibble < 16; ++nibble) {
    for (const Pattern& pattern : {kTwoOfFour, kPairs}) {
      const auto code = static_cast<std::uint8_t>(nibble);
      EXPECT_EQ(is_valid_nibble(code, pattern), !invalid.contains(nibble)) << nibble;
      EXPECT_EQ(refusal([&] { decompress(one_group(code, pattern, kS8)); }).empty(), !invalid.contains(nibble))
          << nibble;
    }
  }
  EXPECT_EQ(refusal([] { decompress(one_group(0xA, kTwoOfFour, kF16)); }),
            "invalid metadata in row 0, group 0: 0xa, allowed are two 2-bit indices that differ");
}

TEST(IsOrderedNibble, HoldsWhereTheSecondIndexIsTheHigherOne) {
  const std::set<int> ordered{0x4, 0x8, 0x9, 0xC, 0xD, 0xE};  // PTX ISA, mma.sp
  for (int nibble = 0; nibble < 16; ++nibble) {
    EXPECT_EQ(is_ordered_nibble(static_cast<std::uint8_t>(nibble)), ordered.contains(nibble)) << nibble;
  }
}

TEST(Decompress, RefusesEverythingButTheTwoCodesInOneOfTwo) {
  for (int nibble = 0; nibble < 16; ++nibble) {
    const auto code = static_cast<std::uint8_t>(nibble);
    const bool valid = nibble == 0x4 || nibble == 0xE;
    EXPECT_EQ(is_valid_nibble(code, kOneOfTwo), valid) << nibble;
    EXPECT_EQ(refusal([&] { decompress(one_group(code, kOneOfTwo, kTf32)); }).empty(), valid) << nibble;
  }
  EXPECT_EQ(refusal([] { decompress(one_group(0x8, kOneOfTwo, kTf32)); }),
            "invalid metadata in row 0, group 0: 0x8, allowed are 0x4 (keeps element 0) and 0xe "
            "(keeps element 1)");
}

TEST(Decompress, RefusesNibblesOfMoreThanFourBits) {
  EXPECT_THROW(decompress(one_group(0x14, kTwoOfFour, kF16)), base::InputError);
  EXPECT_THROW(decompress(one_group(0x4E, kOneOfTwo, kTf32)), base::InputError);
}

TEST(Decompress, RefusesPatternsThatNibblesCannotEncode) {
  CompressedMatrix matrix = one_group(0x4, {2, 8, 1}, kF16);
  EXPECT_THROW(decompress(matrix), base::InputError);
}

TEST(Decompress, RefusesExtentsThatDoNotBelongTogether) {
  CompressedMatrix matrix = one_group(0x4, kTwoOfFour, kF16);
  matrix.logical_k = 8;
  EXPECT_EQ(refusal([&] { decompress(matrix); }),
            "a 2:4 matrix with 1 rows and logical k = 8 needs 4 values and 2 metadata nibbles per "
            "row; there are 2 values and 1 rows of 1 nibbles");
  matrix.logical_k = 6;
  EXPECT_THROW(decompress(matrix), base::InputError);
  matrix = one_group(0x4, kTwoOfFour, kF16);
  matrix.nibbles = base::Matrix<std::uint8_t>(2, 1, 0x4);
  EXPECT_THROW(decompress(matrix), base::InputError);
}

}  // namespace
}  // namespace sptc::sparsity
