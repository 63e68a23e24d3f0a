// SPDX-License-Identifier: Apache-2.0
#include "models/mma/catalogue.h"
#include "models/numerics/codec.h"
#include "models/sparsity/prune.h"
#include "sim/report/show/element_view.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::report::show {
namespace {

using check::vectors::BitArray;
using check::vectors::MetadataInput;
using check::vectors::MetadataLayout;
using check::vectors::MmaOperands;
using numerics::DataType;
using numerics::Word;

/// Words 1, 2, 3, ..
BitArray counting(std::vector<std::size_t> shape, int bytes) {
  BitArray array = check::vectors::make_bit_array(std::move(shape), bytes);
  for (std::size_t i = 0; i < array.bits.size(); ++i) {
    array.bits[i] = i + 1;
  }
  return array;
}

const mma::MmaInstruction kDense = mma::parse_instruction("mma.m16n8k16.f32.f16.f16.f32");
const mma::MmaInstruction kSparse = mma::parse_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");

/// Two cases of three rows.
MmaOperands operands() {
  return {counting({2, 3, 16}, 2), counting({2, 16, 8}, 2), counting({2, 3, 8}, 4)};
}
/// One case of one row of A [1, 8], and its four groups in an element of 16 bits.
MmaOperands compressed() {
  return {counting({1, 1, 8}, 2), counting({1, 16, 8}, 2), {}};
}
MetadataInput metadata(std::uint64_t element) {
  BitArray array = check::vectors::make_bit_array({1, 1, 1}, 2);
  array.bits[0] = element;
  return {array, MetadataLayout::kCanonical, 0};
}

std::string error_of(const mma::MmaInstruction& instruction, const MmaOperands& arrays,
                     const std::optional<MetadataInput>& input = std::nullopt, std::size_t index = 0) {
  return support::input_error_of([&] { file_operands(instruction, arrays, input, index); });
}

TEST(ShownOperands, ACaseIsTakenAndTheRowsThatItLacksAreZeros) {
  const ShownOperands shown = file_operands(kDense, operands(), std::nullopt, 1);
  EXPECT_EQ(shown.source, "of files, case 1");
  ASSERT_EQ(shown.a.rows(), 16U);
  EXPECT_EQ(shown.a(0, 0), 49U);  // behind 3 x 16 words
  EXPECT_EQ(shown.a(2, 15), 96U);
  EXPECT_EQ(shown.a(3, 0), 0U);
  EXPECT_EQ(shown.b(0, 0), 129U);
  EXPECT_EQ(shown.b(15, 7), 256U);
  ASSERT_EQ(shown.c.rows(), 16U);
  EXPECT_EQ(shown.c(2, 7), 48U);
  EXPECT_EQ(shown.c(3, 0), 0U);
  EXPECT_TRUE(shown.compressed.values.empty());
}

TEST(ShownOperands, WithoutCItIsZerosAndWithoutMetadataAIsPruned) {
  MmaOperands arrays = operands();
  arrays.c = {};
  const ShownOperands shown = file_operands(kSparse, arrays, std::nullopt, 0);
  EXPECT_EQ(shown.source, "of files");
  EXPECT_EQ(shown.c, (base::Matrix<Word>(16, 8)));
  EXPECT_EQ(shown.a(0, 3), 4U);
  // Of 1, 2, 3, 4 (subnormals of f16) places 2 and 3 stay.
  EXPECT_EQ(shown.compressed.values(0, 0), 3U);
  EXPECT_EQ(shown.compressed.values(0, 1), 4U);
  EXPECT_EQ(shown.compressed.values(2, 7), 48U);
  EXPECT_EQ(shown.compressed.nibbles(0, 0), 0b1110);
}

TEST(ShownOperands, WithMetadataAIsTakenAsItStands) {
  // Groups keep (0,1), (0,3), (2,3), (1,2).
  const ShownOperands shown = file_operands(kSparse, compressed(), metadata(0x9EC4), 0);
  EXPECT_TRUE(shown.a.empty());
  EXPECT_EQ(shown.compressed.logical_k, 16U);
  EXPECT_EQ(shown.compressed.values(0, 7), 8U);
  EXPECT_EQ(shown.compressed.values(1, 0), 0U);
  const auto& nibbles = shown.compressed.nibbles;
  ASSERT_EQ(nibbles.rows(), 16U);
  EXPECT_EQ((std::vector<int>{nibbles(0, 0), nibbles(0, 1), nibbles(0, 2), nibbles(0, 3)}),
            (std::vector<int>{0x4, 0xC, 0xE, 0x9}));
  EXPECT_EQ(nibbles(1, 0), 0x4);
  EXPECT_EQ(nibbles(15, 3), 0x4);
}

TEST(ShownOperands, GeneratedValuesFollowFromKindAndSeed) {
  const ShownOperands shown = generated_operands(kDense, "random", 7);
  EXPECT_EQ(shown.source, "random, seed 7");
  EXPECT_EQ(std::pair(shown.a.rows(), shown.a.cols()), std::pair(16UL, 16UL));
  EXPECT_EQ(std::pair(shown.b.rows(), shown.b.cols()), std::pair(16UL, 8UL));
  EXPECT_EQ(std::pair(shown.c.rows(), shown.c.cols()), std::pair(16UL, 8UL));
  EXPECT_EQ(generated_operands(kDense, "random", 7).a, shown.a);
  EXPECT_NE(generated_operands(kDense, "random", 8).a, shown.a);
  // C holds values of f16 in words of f32.
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < shown.c.size(); ++i) {
    const double value = numerics::to_double(shown.c.data()[i], DataType::kF32);
    const Word half = numerics::from_double(value, DataType::kF16);
    EXPECT_EQ(numerics::to_double(half, DataType::kF16), value);
    zeros += value == 0 ? 1 : 0;
  }
  EXPECT_LT(zeros, shown.c.size());
  EXPECT_EQ(generated_operands(kDense, "zeros", 7).b, (base::Matrix<Word>(16, 8)));
}

TEST(ShownOperands, AGeneratedAIsPrunedByMagnitude) {
  const ShownOperands shown = generated_operands(kSparse, "random", 7);
  EXPECT_EQ(sparsity::decompress(shown.compressed), sparsity::prune_by_magnitude(shown.a, DataType::kF16));
}

TEST(ShownOperands, ArraysThatAreNoOperandsAreRefused) {
  EXPECT_EQ(error_of(kDense, operands(), metadata(0x4444)), "show: a dense instruction takes no metadata");
  const struct {
    BitArray MmaOperands::*array;
    BitArray instead;
    std::size_t index;
    const char* error;
  } kCases[] = {
      {&MmaOperands::a, operands().a, 2, "show: --case 2 is outside A, which holds 2"},
      {&MmaOperands::b, counting({1, 16, 8}, 2), 1, "show: --case 1 is outside B, which holds 1"},
      {&MmaOperands::c, counting({1, 3, 8}, 4), 1, "show: --case 1 is outside C, which holds 1"},
      {&MmaOperands::b, counting({2, 15, 8}, 2), 0, "show: B must be [16, 8] of 2 bytes each, not [2, 15, 8] of 2"},
      {&MmaOperands::a, counting({1, 17, 16}, 2), 0, "show: A must be [16, 16] of 2 bytes each, not [1, 17, 16] of 2"},
      {&MmaOperands::a, counting({16, 16}, 2), 0, "show: A must be [16, 16] of 2 bytes each, not [16, 16] of 2"},
      {&MmaOperands::c, counting({2, 3, 8}, 2), 0, "show: C must be [16, 8] of 4 bytes each, not [2, 3, 8] of 2"}};
  for (const auto& one : kCases) {
    MmaOperands arrays = operands();
    arrays.*one.array = one.instead;
    EXPECT_EQ(error_of(kDense, arrays, std::nullopt, one.index), one.error);
  }
}

TEST(ShownOperands, MetadataThatNamesNoTwoPlacesIsRefused) {
  EXPECT_EQ(error_of(kSparse, compressed(), metadata(0x9E54)),
            "show: the metadata of row 0, group 1 is 0x5, which names no two places of 2:4");
}

TEST(ShownOperands, MetadataOutOfOrderIsRefusedWhereTheSpellingNeedsThemInOrder) {
  mma::MmaInstruction ordered = kSparse;
  ordered.ordered_metadata = true;
  EXPECT_NO_THROW(file_operands(ordered, compressed(), metadata(0x9EC4), 0));
  EXPECT_NO_THROW(file_operands(kSparse, compressed(), metadata(0x9E14), 0));
  EXPECT_EQ(error_of(ordered, compressed(), metadata(0x9E14)),
            "show: the indices of row 0, group 1 (0x1) do not rise: .sp::ordered_metadata leaves "
            "such a D undefined (PTX ISA), .sp does not");
}

}  // namespace
}  // namespace sptc::report::show
