// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/packed_indices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sptc::sparsity {
namespace {

std::uint8_t index_of(int selector, int row, int slot, int candidates) {
  return static_cast<std::uint8_t>((7 * selector + 5 * row + 3 * slot) % candidates);
}

/// Every index of `fragments` fragments of 16 rows, written and read again.
void expect_read_as_written(const Pattern& pattern, int kept_per_row, int fragments, std::size_t registers) {
  const PackedIndices packed(pattern, 16, kept_per_row);
  std::vector<LaneWords> words(registers, LaneWords{});
  for (int selector = 0; selector < fragments; ++selector) {
    for (int row = 0; row < 16; ++row) {
      for (int slot = 0; slot < kept_per_row; ++slot) {
        packed.write(selector, row, slot, index_of(selector, row, slot, pattern.group), words);
      }
    }
  }
  for (int selector = 0; selector < fragments; ++selector) {
    for (int row = 0; row < 16; ++row) {
      for (int slot = 0; slot < kept_per_row; ++slot) {
        ASSERT_EQ(packed.read(selector, row, slot, words.data()), index_of(selector, row, slot, pattern.group))
            << pattern.name() << " " << selector << " " << row << " " << slot;
      }
    }
  }
}

TEST(PackedIndices, AreReadAsTheyWereWritten) {
  expect_read_as_written({2, 8, 1}, 16, 1, 1);   // three bits: indices that lie in two words
  expect_read_as_written({2, 16, 1}, 16, 1, 1);  // fills a register
  expect_read_as_written({4, 8, 1}, 32, 1, 2);   // needs two
  expect_read_as_written({1, 4, 1}, 8, 4, 1);    // four fragments share one
}

TEST(PackedIndices, StandRowAfterRowWithoutGaps) {
  const PackedIndices packed({2, 8, 1}, 16, 16);  // 48 bits per row
  std::vector<LaneWords> words(1, LaneWords{});
  packed.write(0, 0, 10, 0b101, words);  // bits 30 to 32
  EXPECT_EQ(words[0][0], 1U << 30);
  EXPECT_EQ(words[0][1], 1U);
  packed.write(0, 1, 0, 0b111, words);  // bits 48 to 50
  EXPECT_EQ(words[0][1], 1U | 0b111U << 16);
}

}  // namespace
}  // namespace sptc::sparsity
