// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata_register.h"

#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

/// One line of the table of mma.sp variants in the PTX ISA.
struct Variant {
  DataType type;
  int logical_k;
  int groups;
  int lanes_per_quad;
  int selectors;
};

const std::vector<Variant> kVariants{
    {DataType::kF16, 16, 4, 1, 4},  {DataType::kF16, 32, 8, 2, 2}, {DataType::kBf16, 16, 4, 1, 4},
    {DataType::kBf16, 32, 8, 2, 2}, {DataType::kTf32, 8, 4, 1, 4}, {DataType::kTf32, 16, 8, 2, 2},
    {DataType::kS8, 32, 8, 2, 2},   {DataType::kS8, 64, 16, 4, 1},
};

/// The formats of 4-bit types: no such row in the table of types yet, the same formulas.
const std::vector<MetadataRegisterFormat> kFourBitFormats{
    {.pattern = {4, 8, 2}, .logical_k = 64, .rows_per_word = 1},
    {.pattern = {4, 8, 2}, .logical_k = 128, .rows_per_word = 1}};

std::vector<MetadataRegisterFormat> all_formats() {
  std::vector<MetadataRegisterFormat> formats = kFourBitFormats;
  for (const Variant& variant : kVariants) {
    formats.push_back(metadata_register_format(variant.type, variant.logical_k));
  }
  return formats;
}

TEST(MetadataRegisterFormat, HasTheGroupsLanesAndSelectorsOfPtx) {
  for (const Variant& variant : kVariants) {
    const auto format = metadata_register_format(variant.type, variant.logical_k);
    EXPECT_EQ(format.groups(), variant.groups);
    EXPECT_EQ(format.lanes_per_quad(), variant.lanes_per_quad);
    EXPECT_EQ(format.selectors(), variant.selectors);
  }
  EXPECT_EQ(kFourBitFormats[0].selectors(), 2);
  EXPECT_EQ(kFourBitFormats[1].selectors(), 1);
}

TEST(MetadataRegisterFormat, RefusesDepthsThatMmaSpDoesNotHave) {
  EXPECT_EQ(refusal([] { metadata_register_format(DataType::kF16, 8); }),
            "mma.sp has no m16n8k8 for f16: allowed are k16 and k32");
  EXPECT_THROW(metadata_register_format(DataType::kTf32, 32), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kS8, 16), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF16, 0), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF16, -16), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF32, 16), base::InputError);
}

TEST(MetadataSlot, IsAOneToOneMapOntoTheLanesOfTheSelector) {
  for (const MetadataRegisterFormat& format : all_formats()) {
    for (int selector = 0; selector < format.selectors(); ++selector) {
      std::set<std::pair<int, int>> used;
      for (int row = 0; row < 16; ++row) {
        for (int group = 0; group < format.groups(); ++group) {
          const MetadataSlot slot = metadata_slot(format, selector, {row, group});
          EXPECT_TRUE(slot.lane >= 0 && slot.lane < 32 && slot.nibble >= 0 && slot.nibble < 8);
          EXPECT_EQ(slot.lane % 4 / format.lanes_per_quad(), selector);
          EXPECT_EQ(metadata_place(format, selector, slot), (MetadataPlace{row, group}));
          used.insert({slot.lane, slot.nibble});
        }
      }
      EXPECT_EQ(used.size(), static_cast<std::size_t>(8 * 8 * format.lanes_per_quad()));
    }
  }
}

TEST(MetadataPlace, IsNothingInLanesThatTheSelectorLeavesOut) {
  const auto format = metadata_register_format(DataType::kF16, 16);
  EXPECT_FALSE(metadata_place(format, 2, {1, 0}));
  EXPECT_EQ(metadata_place(format, 1, {1, 6}), (MetadataPlace{8, 2}));
}

TEST(Selector, OutOfRangeIsRefused) {
  const auto shallow = metadata_register_format(DataType::kF16, 16);
  const auto deep = metadata_register_format(DataType::kS8, 64);
  EXPECT_EQ(refusal([&] { metadata_slot(shallow, 4, {}); }),
            "sparsity selector 4 is out of range for m16n8k16: allowed are 0 to 3");
  EXPECT_EQ(refusal([&] { metadata_slot(deep, 1, {}); }),
            "sparsity selector 1 is out of range for m16n8k64: allowed is 0");
  EXPECT_THROW(metadata_place(shallow, -1, {}), base::InputError);
  EXPECT_THROW(gather_metadata(deep, 2, base::Matrix<std::uint8_t>(16, 16), 0, 0),
               base::InputError);
  EXPECT_THROW(read_metadata(deep, 1, LaneWords{}), base::InputError);
}

TEST(GatherMetadata, FillsUpBeyondTheEdgesWithAValidNibble) {
  const auto format = metadata_register_format(DataType::kF16, 16);
  const base::Matrix<std::uint8_t> edge(1, 1, 0xE);
  const base::Matrix<std::uint8_t> read =
      read_metadata(format, 3, gather_metadata(format, 3, edge, 0, 0));
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t group = 0; group < 4; ++group) {
      EXPECT_EQ(read(row, group), row == 0 && group == 0 ? 0xE : kEmptyGroupNibble);
    }
  }
}

TEST(GatherMetadata, StartsAtTheGivenRowAndGroup) {
  const auto format = metadata_register_format(DataType::kTf32, 8);
  base::Matrix<std::uint8_t> matrix(32, 8, 0x4);
  matrix(16, 4) = 0xE;
  EXPECT_EQ(read_metadata(format, 0, gather_metadata(format, 0, matrix, 16, 4))(0, 0), 0xE);
  EXPECT_EQ(gather_metadata(format, 0, matrix, 0, 0)[0], 0x44444444U);
  EXPECT_EQ(gather_metadata(format, 0, matrix, 0, 0)[1], 0U);
}

}  // namespace
}  // namespace sptc::sparsity
