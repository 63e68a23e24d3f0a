// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/random.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <set>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

/// Any nibbles will do: layouts move them and do not read them.
CanonicalMetadata random_metadata(std::size_t rows, std::size_t groups, DataType type) {
  const base::RandomStream stream(rows * 1000 + groups);
  base::Matrix<std::uint8_t> nibbles(rows, groups);
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    nibbles.data()[i] = static_cast<std::uint8_t>(stream.below(i, 16));
  }
  return pack_canonical(nibbles, type);
}

TEST(CanonicalMetadata, PutsFourGroupsInSixteenBitsAndEightInThirtyTwo) {
  const base::Matrix<std::uint8_t> eight = nibbles({{0x4, 0x8, 0x9, 0xC, 0xD, 0xE, 0x4, 0x8}});
  const CanonicalMetadata f16 = pack_canonical(eight, DataType::kF16);
  EXPECT_EQ(f16.elements(0, 0), 0xC984U);
  EXPECT_EQ(f16.elements(0, 1), 0x84EDU);
  EXPECT_EQ(pack_canonical(eight, DataType::kTf32).elements, f16.elements);
  const CanonicalMetadata s8 = pack_canonical(eight, DataType::kS8);
  EXPECT_EQ(s8.elements.cols(), 1U);
  EXPECT_EQ(s8.elements(0, 0), 0x84EDC984U);
  EXPECT_EQ(unpack_canonical(s8), eight);
  EXPECT_EQ(unpack_canonical(f16), eight);
}

TEST(CanonicalMetadata, RefusesGroupsThatDoNotFillAnElement) {
  EXPECT_EQ(refusal([] { pack_canonical(base::Matrix<std::uint8_t>(2, 6), DataType::kF16); }),
            "groups per row of canonical metadata for f16 = 6 must be a multiple of 4");
  EXPECT_THROW(pack_canonical(base::Matrix<std::uint8_t>(2, 4), DataType::kS8), base::InputError);
}

TEST(ReorderedMetadata, IsAPermutation) {
  for (const DataType type : {DataType::kF16, DataType::kS8}) {
    std::set<std::size_t> offsets;
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t column = 0; column < 6; ++column) {
        offsets.insert(reordered_offset(type, 64, row, column));
      }
    }
    EXPECT_EQ(offsets.size(), 64U * 6U);
    EXPECT_EQ(*offsets.rbegin(), 64U * 6U - 1);
  }
}

TEST(ReorderedMetadata, PutsTheEightRowsOfAWarpQuadSideBySide) {
  // Record q of 16 bytes: rows q, q+8 of both K halves, then q+16, q+24.
  EXPECT_EQ(reordered_offset(DataType::kF16, 32, 0, 0), 0U);
  EXPECT_EQ(reordered_offset(DataType::kF16, 32, 8, 0), 1U);
  EXPECT_EQ(reordered_offset(DataType::kF16, 32, 0, 1), 2U);
  EXPECT_EQ(reordered_offset(DataType::kF16, 32, 24, 1), 7U);
  EXPECT_EQ(reordered_offset(DataType::kF16, 32, 1, 0), 8U);
  EXPECT_EQ(reordered_offset(DataType::kS8, 16, 8, 0), 1U);
  EXPECT_EQ(reordered_offset(DataType::kS8, 16, 0, 1), 2U);
  EXPECT_EQ(reordered_offset(DataType::kS8, 16, 1, 0), 4U);
}

TEST(ReorderedMetadata, RefusesExtentsThatCannotBeReordered) {
  EXPECT_EQ(refusal([] { to_reordered(random_metadata(48, 8, DataType::kF16)); }),
            "rows of reordered metadata for f16 = 48 must be a multiple of 32");
  EXPECT_EQ(refusal([] { to_reordered(random_metadata(32, 4, DataType::kF16)); }),
            "element columns of reordered metadata for f16 = 1 must be a multiple of 2");
  EXPECT_NO_THROW(to_reordered(random_metadata(48, 16, DataType::kS8)));
  ReorderedMetadata short_of_one = to_reordered(random_metadata(32, 8, DataType::kF16));
  short_of_one.elements.pop_back();
  EXPECT_EQ(refusal([&] { to_canonical(short_of_one); }),
            "reordered metadata of 32 rows and 2 columns has 63 elements, needed are rows times "
            "columns");
  // 2^33 * 2^31 is 0 in 64 bits.
  const ReorderedMetadata lying{DataType::kF16, std::size_t{1} << 33, std::size_t{1} << 31, {}};
  EXPECT_THROW(to_canonical(lying), base::InputError);
}

TEST(LaneMetadata, SharedByTwoTilesIsTheReorderedBufferReadBy32BitWords) {
  // What ldmatrix does: lane T takes the T-th word of a block of 32 rows and two element columns.
  const CanonicalMetadata canonical = random_metadata(64, 16, DataType::kF16);
  const ReorderedMetadata reordered = to_reordered(canonical);
  const LaneMetadata lanes = to_shared_lanes(canonical, 32);
  ASSERT_EQ(lanes.tiles_per_register, 2U);
  std::size_t element = 0;
  for (std::size_t k_tile = 0; k_tile < lanes.k_tiles; ++k_tile) {
    for (std::size_t row_tile = 0; row_tile < lanes.row_tiles; row_tile += 2) {
      for (const std::uint32_t word : lanes.words(row_tile, k_tile)) {
        EXPECT_EQ(word, reordered.elements[element] | reordered.elements[element + 1] << 16);
        element += 2;
      }
    }
  }
  EXPECT_EQ(element, reordered.elements.size());
}

TEST(LaneMetadata, OfEightBitTypesIsTheReorderedBuffer) {
  const CanonicalMetadata canonical = random_metadata(48, 32, DataType::kS8);
  const LaneMetadata lanes = to_shared_lanes(canonical, 64);
  std::vector<std::uint32_t> words;
  for (std::size_t k_tile = 0; k_tile < lanes.k_tiles; ++k_tile) {
    for (std::size_t row_tile = 0; row_tile < lanes.row_tiles; ++row_tile) {
      const LaneWords& tile = lanes.words(row_tile, k_tile);
      words.insert(words.end(), tile.begin(), tile.end());
    }
  }
  EXPECT_EQ(words, to_reordered(canonical).elements);
}

TEST(LaneMetadata, SharesRegistersAlsoWhereTheLastIsNotFull) {
  const CanonicalMetadata canonical = random_metadata(48, 8, DataType::kF16);
  const LaneMetadata lanes = to_shared_lanes(canonical, 32);
  EXPECT_EQ(lanes.registers.size(), 2U);
  EXPECT_EQ(lanes.selector(0), 0);
  EXPECT_EQ(lanes.selector(1), 1);
  EXPECT_EQ(lanes.selector(2), 0);
  EXPECT_EQ(lanes.registers[1][2], 0U);
  EXPECT_EQ(to_canonical(lanes), canonical);
}

TEST(LaneMetadata, WithOneSelectorLeavesTheOtherLanesZero) {
  const CanonicalMetadata canonical =
      pack_canonical(base::Matrix<std::uint8_t>(16, 4, 0x4), DataType::kBf16);
  const LaneMetadata lanes = to_lanes(canonical, 16, 2);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(lanes.words(0, 0)[lane], lane % 4 == 2 ? 0x44444444U : 0U);
  }
}

TEST(LaneMetadata, RefusesSelectorsDepthsAndExtentsThatDoNotFit) {
  const CanonicalMetadata canonical = random_metadata(32, 8, DataType::kF16);
  EXPECT_THROW(to_lanes(canonical, 32, 2), base::InputError);
  EXPECT_THROW(to_lanes(canonical, 32, -1), base::InputError);
  EXPECT_THROW(to_lanes(random_metadata(0, 8, DataType::kF16), 32, 2), base::InputError);
  EXPECT_THROW(to_lanes(canonical, 64, 0), base::InputError);
  EXPECT_EQ(refusal([] { to_lanes(random_metadata(20, 8, DataType::kF16), 32, 0); }),
            "rows of mma.sp metadata = 20 must be a multiple of 16");
  EXPECT_EQ(refusal([] { to_lanes(random_metadata(16, 12, DataType::kF16), 32, 0); }),
            "groups per row of mma.sp metadata for m16n8k32 = 12 must be a multiple of 8");
  LaneMetadata lanes = to_lanes(canonical, 32, 0);
  lanes.registers.pop_back();
  EXPECT_THROW(to_canonical(lanes), base::InputError);
  lanes.tiles_per_register = 0;
  EXPECT_THROW(to_canonical(lanes), base::InputError);
  lanes.tiles_per_register = 1;
  lanes.registers.clear();
  lanes.row_tiles = std::size_t{1} << 33;
  lanes.k_tiles = std::size_t{1} << 31;
  EXPECT_THROW(to_canonical(lanes), base::InputError);
}

TEST(Metadata, GoesFromLanesToReorderedAndBack) {
  const CanonicalMetadata canonical = random_metadata(64, 16, DataType::kTf32);
  const ReorderedMetadata reordered = to_reordered(canonical);
  EXPECT_EQ(to_reordered(to_lanes(canonical, 8, 3)), reordered);
  EXPECT_EQ(to_lanes(reordered, 16, 1), to_lanes(canonical, 16, 1));
  EXPECT_EQ(to_shared_lanes(reordered, 8), to_shared_lanes(canonical, 8));
}

}  // namespace
}  // namespace sptc::sparsity
