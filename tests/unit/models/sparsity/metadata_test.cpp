// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/random.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

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

TEST(ReorderedMetadata, OfMarlinPutsRowsFourApartSideBySide) {
  for (const DataType type : {DataType::kF16, DataType::kS8}) {
    const auto offset = [&](std::size_t row, std::size_t column) {
      return reordered_offset(type, 128, row, column, RowOrder::kMarlin);
    };
    EXPECT_EQ(offset(4, 0), offset(0, 0) + 1);
    EXPECT_EQ(offset(0, 1), offset(0, 0) + 2);
    EXPECT_EQ(offset(1, 0), offset(0, 0) + 4);
    EXPECT_EQ(offset(8, 0), offset(0, 0) + 8);
    EXPECT_EQ(offset(2, 0), offset(0, 0) + 64);
    EXPECT_EQ(offset(64, 0), offset(0, 0) + 128);
  }
  const CanonicalMetadata canonical = random_metadata(128, 16, DataType::kS8);
  EXPECT_EQ(to_canonical(to_reordered(canonical, RowOrder::kMarlin)), canonical);
  EXPECT_EQ(
      refusal([] { to_reordered(random_metadata(96, 8, DataType::kF16), RowOrder::kMarlin); }),
      "rows of Marlin's metadata for f16 = 96 must be a multiple of 64");
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
}

}  // namespace
}  // namespace sptc::sparsity
