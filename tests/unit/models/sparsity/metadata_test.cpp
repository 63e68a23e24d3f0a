// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/random.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
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
  EXPECT_EQ(refusal_of(48, 8, f16), "rows of reordered metadata for f16 = 48 must be a multiple of 32");
  EXPECT_EQ(refusal_of(32, 4, f16), "element columns of reordered metadata for f16 = 1 must be a multiple of 2");
  EXPECT_EQ(refusal_of(48, 16, {DataType::kS8, MetadataOrder::kCutlass}), "");
  EXPECT_EQ(refusal([&] { unpack_metadata(std::vector<std::uint32_t>(63), 32, 8, f16); }),
            "metadata of 32 rows and 8 groups has 63 words, needed are 64");
}

/// The offset that a layout of CuTe gives: coordinates times strides.
std::size_t offset_of(std::initializer_list<std::pair<std::size_t, std::size_t>> modes) {
  std::size_t offset = 0;
  for (const auto& [coordinate, stride] : modes) {
    offset += coordinate * stride;
  }
  return offset;
}

/// Where in the bytes of CUTLASS 3.x the nibble of (`row`, `group`) stands.
std::size_t nibble_place(DataType type, int columns, std::size_t row, std::size_t group) {
  base::Matrix<std::uint8_t> nibbles(256, 128);
  nibbles(row, group) = 1;
  const auto words = pack_metadata(nibbles, MetadataForm{type, MetadataOrder::kCutlass3, columns, 0});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words.data()[i] != 0) {
      return 2 * i + (words.data()[i] == 1 ? 0 : 1);
    }
  }
  return 2 * words.size();
}

TEST(Cutlass3Metadata, StandsWhereTheLayoutsOfCuteSay) {
  // TensorEAtom of sm1xx_sparse_config.inl, in elements of A: 128 x 128 of 16 bits, 128 x 64 of
  // tf32, 128 x 128 of 8 bits. That of sm90_sparse_config.inl has half the rows.
  const base::RandomStream stream(20261129);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto row = static_cast<std::size_t>(stream.below(2 * i, 256));
    const auto group = static_cast<std::size_t>(stream.below(2 * i + 1, 128));
    const std::size_t m = row % 128;
    const std::size_t tile = row / 128;
    std::size_t k = 4 * group;
    EXPECT_EQ(4 * nibble_place(DataType::kF16, 128, row, group), offset_of({{m % 8, 128},
                                                                            {m / 8 % 2, 16},
                                                                            {m / 16, 2048},
                                                                            {k % 16, 1},
                                                                            {k / 16 % 2, 1024},
                                                                            {k % 128 / 32, 32},
                                                                            {tile, 128 * 128},
                                                                            {k / 128, 256 * 128}}));
    EXPECT_EQ(4 * nibble_place(DataType::kE4m3, 128, row, group),
              offset_of({{m, 128}, {k % 128, 1}, {tile, 128 * 128}, {k / 128, 256 * 128}}));
    k = 2 * group;
    EXPECT_EQ(2 * nibble_place(DataType::kTf32, 64, row, group), offset_of({{m % 8, 64},
                                                                            {m / 8 % 2, 8},
                                                                            {m / 16, 1024},
                                                                            {k % 8, 1},
                                                                            {k / 8 % 2, 512},
                                                                            {k % 64 / 16, 16},
                                                                            {tile, 128 * 64},
                                                                            {k / 64, 256 * 64}}));
  }
}

TEST(Cutlass3Metadata, GoesRoundAndRefusesWhatHasNoAtom) {
  for (const auto& [type, name] : {std::pair(DataType::kF16, "cutlass-sm90"),
                                   {DataType::kF16, "cutlass-sm90-k64"},
                                   {DataType::kS8, "cutlass-sm90-k64"},
                                   {DataType::kE2m1, "cutlass-sm100"}}) {
    const MetadataForm form = find_metadata_form(name, type).value();
    const base::Matrix<std::uint8_t> nibbles = random_nibbles(128, 64);
    const base::Matrix<std::uint32_t> words = pack_metadata(nibbles, form);
    EXPECT_EQ(metadata_word_bits(form), 8);
    EXPECT_EQ(unpack_metadata({words.data(), words.size()}, 128, 64, form), nibbles) << name;
  }
  const auto form = [](DataType type, int columns) { return MetadataForm{type, MetadataOrder::kCutlass3, columns, 0}; };
  EXPECT_EQ(refusal_of(32, 32, form(DataType::kF16, 128)),
            "rows of CUTLASS 3.x metadata for f16 = 32 must be a multiple of 64");
  EXPECT_EQ(refusal_of(64, 16, form(DataType::kF16, 128)),
            "groups per row of CUTLASS 3.x metadata for f16 = 16 must be a multiple of 32");
  for (const auto& [type, columns] : {std::pair(DataType::kF16, 0), {DataType::kS8, 32}, {DataType::kS4, 256}}) {
    EXPECT_NE(refusal_of(64, 64, form(type, columns)).find("CUTLASS 3.x has no metadata for"), std::string::npos);
  }
  EXPECT_FALSE(find_metadata_form("cutlass-sm80", DataType::kF16));
}

TEST(LaneMetadata, RefusesSelectorsDepthsAndExtentsThatDoNotFit) {
  const auto lanes = [](int logical_k, int selector) {
    return MetadataForm{DataType::kF16, MetadataOrder::kLanes, logical_k, selector};
  };
  EXPECT_NE(refusal_of(32, 8, lanes(32, 2)), "");
  EXPECT_NE(refusal_of(32, 8, lanes(32, -1)), "");
  EXPECT_NE(refusal_of(0, 8, lanes(32, 2)), "");
  EXPECT_NE(refusal_of(32, 8, lanes(64, 0)), "");
  EXPECT_EQ(refusal_of(20, 8, lanes(32, 0)), "rows of mma.sp metadata = 20 must be a multiple of 16");
  EXPECT_EQ(refusal_of(16, 12, lanes(32, 0)),
            "groups per row of mma.sp metadata for m16n8k32 = 12 must be a multiple of 8");
  EXPECT_NE(refusal([&] { unpack_metadata(std::vector<std::uint32_t>(32), 32, 8, lanes(32, 0)); }), "");
}

}  // namespace
}  // namespace sptc::sparsity
