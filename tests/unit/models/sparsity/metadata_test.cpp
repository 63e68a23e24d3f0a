// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/random.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

/// Any nibbles will do: layouts move them and do not read them.
base::Matrix<std::uint8_t> random_nibbles(std::size_t rows, std::size_t groups) {
  const base::RandomStream stream(rows * 1000 + groups);
  base::Matrix<std::uint8_t> nibbles(rows, groups);
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    nibbles.data()[i] = static_cast<std::uint8_t>(stream.below(i, 16));
  }
  return nibbles;
}

/// Why nibbles [rows, groups] are not written in `form`; empty where they are.
std::string refusal_of(std::size_t rows, std::size_t groups, const MetadataForm& form) {
  return refusal([&] { pack_metadata(random_nibbles(rows, groups), form); });
}

TEST(CanonicalMetadata, RefusesGroupsThatDoNotFillAnElement) {
  EXPECT_EQ(refusal_of(2, 6, {DataType::kF16}),
            "groups per row of canonical metadata for f16 = 6 must be a multiple of 4");
  EXPECT_NE(refusal_of(2, 4, {DataType::kS8}), "");
}

TEST(ReorderedMetadata, OfMarlinPutsRowsFourApartSideBySide) {
  for (const DataType type : {DataType::kF16, DataType::kS8}) {
    const auto offset = [&](std::size_t row, std::size_t column) {
      return reordered_offset(type, 128, row, column, MetadataOrder::kMarlin);
    };
    EXPECT_EQ(offset(4, 0), offset(0, 0) + 1);
    EXPECT_EQ(offset(0, 1), offset(0, 0) + 2);
    EXPECT_EQ(offset(1, 0), offset(0, 0) + 4);
    EXPECT_EQ(offset(8, 0), offset(0, 0) + 8);
    EXPECT_EQ(offset(2, 0), offset(0, 0) + 64);
    EXPECT_EQ(offset(64, 0), offset(0, 0) + 128);
  }
  const base::Matrix<std::uint8_t> nibbles = random_nibbles(128, 16);
  const MetadataForm marlin{DataType::kS8, MetadataOrder::kMarlin};
  const base::Matrix<std::uint32_t> words = pack_metadata(nibbles, marlin);
  EXPECT_EQ(unpack_metadata({words.data(), words.size()}, 128, 16, marlin), nibbles);
  EXPECT_EQ(refusal_of(96, 8, {DataType::kF16, MetadataOrder::kMarlin}),
            "rows of Marlin's metadata for f16 = 96 must be a multiple of 64");
}

TEST(ReorderedMetadata, RefusesExtentsThatCannotBeReordered) {
  const MetadataForm f16{DataType::kF16, MetadataOrder::kCutlass};
  EXPECT_EQ(refusal_of(48, 8, f16),
            "rows of reordered metadata for f16 = 48 must be a multiple of 32");
  EXPECT_EQ(refusal_of(32, 4, f16),
            "element columns of reordered metadata for f16 = 1 must be a multiple of 2");
  EXPECT_EQ(refusal_of(48, 16, {DataType::kS8, MetadataOrder::kCutlass}), "");
  EXPECT_EQ(refusal([&] { unpack_metadata(std::vector<std::uint32_t>(63), 32, 8, f16); }),
            "metadata of 32 rows and 8 groups has 63 words, needed are 64");
}

TEST(LaneMetadata, RefusesSelectorsDepthsAndExtentsThatDoNotFit) {
  const auto lanes = [](int logical_k, int selector) {
    return MetadataForm{DataType::kF16, MetadataOrder::kLanes, logical_k, selector};
  };
  EXPECT_NE(refusal_of(32, 8, lanes(32, 2)), "");
  EXPECT_NE(refusal_of(32, 8, lanes(32, -1)), "");
  EXPECT_NE(refusal_of(0, 8, lanes(32, 2)), "");
  EXPECT_NE(refusal_of(32, 8, lanes(64, 0)), "");
  EXPECT_EQ(refusal_of(20, 8, lanes(32, 0)),
            "rows of mma.sp metadata = 20 must be a multiple of 16");
  EXPECT_EQ(refusal_of(16, 12, lanes(32, 0)),
            "groups per row of mma.sp metadata for m16n8k32 = 12 must be a multiple of 8");
  EXPECT_NE(refusal([&] { unpack_metadata(std::vector<std::uint32_t>(32), 32, 8, lanes(32, 0)); }),
            "");
}

}  // namespace
}  // namespace sptc::sparsity
