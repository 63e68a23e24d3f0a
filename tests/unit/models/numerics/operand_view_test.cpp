// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/operand_view.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace sptc::numerics {
namespace {

/// Rows of three elements that stand five apart: 10 11 12, 20 21 22, 30 31 32.
template <typename Element>
constexpr std::array<Element, 13> kRows{10, 11, 12, 99, 99, 20, 21, 22, 99, 99, 30, 31, 32};

template <typename Element>
OperandView view() {
  return {kRows<Element>.data(), 3, 3, 5};
}

/// Elements [begin, end) of a row of `view`.
std::vector<Word> words_of(const OperandView& view, std::size_t row, std::size_t begin, std::size_t end) {
  std::vector<Word> buffer(end - begin);
  const Word* const words = view.words(row, begin, end, buffer.data());
  return {words, words + (end - begin)};
}

template <typename Element>
class OperandViewOf : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t, Word>;
TYPED_TEST_SUITE(OperandViewOf, Elements);

TYPED_TEST(OperandViewOf, ElementsStandWhereTheStrideSays) {
  const OperandView all = view<TypeParam>();
  EXPECT_TRUE(all);
  EXPECT_EQ(all.rows(), 3U);
  EXPECT_EQ(all.cols(), 3U);
  EXPECT_EQ(all.element_bytes(), sizeof(TypeParam));
  EXPECT_EQ(all(0, 0), 10U);
  EXPECT_EQ(all(2, 1), 31U);
  EXPECT_EQ(words_of(all, 1, 0, 3), (std::vector<Word>{20, 21, 22}));
  EXPECT_EQ(words_of(all, 2, 1, 3), (std::vector<Word>{31, 32}));
  EXPECT_EQ(words_of(all, 2, 1, 1), std::vector<Word>{});
}

TEST(OperandView, WordsAreNotCopied) {
  Word unused = 7;
  EXPECT_EQ(view<Word>().words(1, 1, 2, &unused), kRows<Word>.data() + 6);
  EXPECT_EQ(unused, 7U);
  EXPECT_EQ(view<std::uint8_t>().words(1, 1, 2, &unused), &unused);
  EXPECT_EQ(unused, 21U);
}

TEST(OperandView, NoMatrixIsNotAnEmptyOne) {
  const base::Matrix<Word> empty;
  const base::Matrix<Word>* const none = nullptr;
  EXPECT_FALSE(OperandView());
  EXPECT_FALSE(OperandView(none));
  EXPECT_TRUE(OperandView(empty));
  EXPECT_TRUE(OperandView(&empty));
  EXPECT_EQ(OperandView(&empty).rows(), 0U);
}

}  // namespace
}  // namespace sptc::numerics
