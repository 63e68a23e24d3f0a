// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata_register.h"

#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

TEST(MetadataRegisterFormat, RefusesDepthsThatMmaSpDoesNotHave) {
  EXPECT_EQ(refusal([] { metadata_register_format(DataType::kF16, 8); }),
            "mma.sp has no m16n8k8 for f16: allowed are k16 and k32");
  EXPECT_THROW(metadata_register_format(DataType::kTf32, 32), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kS8, 16), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF16, 0), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF16, -16), base::InputError);
  EXPECT_THROW(metadata_register_format(DataType::kF32, 16), base::InputError);
}

TEST(Selector, OutOfRangeIsRefused) {
  const auto shallow = metadata_register_format(DataType::kF16, 16);
  const auto deep = metadata_register_format(DataType::kS8, 64);
  EXPECT_EQ(refusal([&] { metadata_slot(shallow, 4, {}); }),
            "sparsity selector 4 is out of range for m16n8k16: allowed are 0 to 3");
  EXPECT_EQ(refusal([&] { metadata_slot(deep, 1, {}); }),
            "sparsity selector 1 is out of range for m16n8k64: allowed is 0");
  EXPECT_THROW(metadata_slot(shallow, -1, {}), base::InputError);
  EXPECT_THROW(gather_metadata(deep, 2, base::Matrix<std::uint8_t>(16, 16), 0, 0), base::InputError);
  EXPECT_THROW(read_metadata(deep, 1, LaneWords{}), base::InputError);
}

TEST(GatherMetadata, FillsUpBeyondTheEdgesWithAValidNibble) {
  const auto format = metadata_register_format(DataType::kF16, 16);
  const base::Matrix<std::uint8_t> edge(1, 1, 0xE);
  const base::Matrix<std::uint8_t> read = read_metadata(format, 3, gather_metadata(format, 3, edge, 0, 0));
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t group = 0; group < 4; ++group) {
      EXPECT_EQ(read(row, group), row == 0 && group == 0 ? 0xE : kEmptyGroupNibble);
    }
  }
}

}  // namespace
}  // namespace sptc::sparsity
