// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/metadata_input.h"

#include "models/base/random.h"
#include "models/mma/catalogue.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;

/// Valid nibbles of a matrix, each drawn from those that the pattern knows.
base::Matrix<std::uint8_t> random_nibbles(std::size_t rows, std::size_t groups, const sparsity::Pattern& pattern) {
  std::vector<std::uint8_t> valid;
  for (std::uint8_t nibble = 0; nibble < 16; ++nibble) {
    if (sparsity::is_valid_nibble(nibble, pattern)) {
      valid.push_back(nibble);
    }
  }
  base::Matrix<std::uint8_t> nibbles(rows, groups);
  const base::RandomStream stream(3);
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    nibbles.data()[i] = valid[stream.below(i, valid.size())];
  }
  return nibbles;
}

BitArray array_of(std::vector<std::size_t> shape, int bytes, const std::vector<std::uint32_t>& words) {
  BitArray array = make_bit_array(std::move(shape), bytes);
  std::copy(words.begin(), words.end(), array.bits.begin());
  return array;
}

struct Case {
  std::string_view instruction;
  std::size_t rows;
};

TEST(ElementIndices, AreTheSameFromEveryLayout) {
  for (const Case& each : {Case{"mma.sp.m16n8k32.f32.f16.f16.f32", 32}, Case{"mma.sp.m16n8k16.f32.tf32.tf32.f32", 32},
                           Case{"mma.sp.m16n8k64.s32.s8.s8.s32", 32}, Case{"mma.sp.m16n8k128.s32.s4.u4.s32", 16},
                           Case{"mma.sp.m16n8k64.f32.e4m3.e5m2.f32", 16}}) {
    SCOPED_TRACE(each.instruction);
    const MmaInstruction instruction = mma::parse_instruction(each.instruction);
    const auto type = instruction.a_type;
    const sparsity::Pattern pattern = sparsity::hardware_pattern(type);
    const auto k = 2 * static_cast<std::size_t>(instruction.shape.k);
    const std::size_t groups = k / static_cast<std::size_t>(pattern.group);
    const std::vector<std::size_t> a_shape{1, each.rows, k / 2};
    const auto nibbles = random_nibbles(each.rows, groups, pattern);
    const int bytes = sparsity::metadata_element_bits(type) / 8;
    const auto indices = [&](MetadataLayout layout, sparsity::MetadataOrder order, int bytes_of_word) {
      const auto words = sparsity::pack_metadata(nibbles, {type, order, instruction.shape.k, 0});
      const BitArray array = array_of({1, words.size()}, bytes_of_word, {words.data(), words.data() + words.size()});
      return element_indices({array, layout, 0}, instruction, a_shape, "x").bits;
    };
    using sparsity::MetadataOrder;
    const auto expected = indices(MetadataLayout::kCanonical, MetadataOrder::kCanonical, bytes);
    EXPECT_EQ(indices(MetadataLayout::kReordered, MetadataOrder::kCutlass, bytes), expected);
    EXPECT_EQ(indices(MetadataLayout::kLanes, MetadataOrder::kLanes, 4), expected);
  }
}

TEST(ElementIndices, PutElementsInsideTheirGroup) {
  const MmaInstruction instruction = mma::parse_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");
  // Groups keep (0,1), (0,3), (2,3), (1,2).
  const BitArray metadata = array_of({1, 1, 1}, 2, {0x9EC4});
  EXPECT_EQ(element_indices({metadata, MetadataLayout::kCanonical, 0}, instruction, {1, 1, 8}, "x").bits,
            (std::vector<std::uint64_t>{0, 1, 4, 7, 10, 11, 13, 14}));
}

TEST(ElementIndices, RefuseInvalidMetadataAndWrongExtents) {
  const MmaInstruction instruction = mma::parse_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");
  const auto refused = [&](const BitArray& array, MetadataLayout layout, std::string_view part) {
    support::expect_input_error(
        [&] {
          element_indices({array, layout, 0}, instruction, {1, 1, 8}, "x");
        },
        {"x: ", part});
  };
  refused(array_of({1, 1, 1}, 2, {0x9EC5}), MetadataLayout::kCanonical, "row 0, group 0");
  refused(array_of({1, 1, 2}, 2, {0, 0}), MetadataLayout::kCanonical, "1 elements of 16 bits");
  refused(array_of({1, 1, 1}, 4, {0}), MetadataLayout::kCanonical, "of 32 bits");
  refused(array_of({1, 32}, 4, {}), MetadataLayout::kLanes, "16 rows");
  support::expect_input_error([] { parse_metadata_layout("lane"); }, {"unknown metadata layout 'lane'"});
}

}  // namespace
}  // namespace sptc::check::vectors
