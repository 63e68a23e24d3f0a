// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/bank_conflicts.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::sim {
namespace {

std::vector<std::uint32_t> strided(std::uint32_t stride_bytes, std::uint32_t lanes = 32) {
  std::vector<std::uint32_t> addresses;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    addresses.push_back(lane * stride_bytes);
  }
  return addresses;
}

TEST(BankConflicts, OfAStrideAreItsCommonDivisorWithTheBanks) {
  EXPECT_EQ(wavefronts(strided(4), 4, 32, 4), 1);
  EXPECT_EQ(wavefronts(strided(8), 4, 32, 4), 2);
  EXPECT_EQ(wavefronts(strided(16), 4, 32, 4), 4);
  EXPECT_EQ(wavefronts(strided(32), 4, 32, 4), 8);
  EXPECT_EQ(wavefronts(strided(128), 4, 32, 4), 32);
  EXPECT_EQ(wavefronts(strided(12), 4, 32, 4), 1);   // odd in words
  EXPECT_EQ(wavefronts(strided(132), 4, 32, 4), 1);  // a padded row
}

TEST(BankConflicts, LanesThatReadTheSameWordShareIt) {
  EXPECT_EQ(wavefronts(strided(0), 4, 32, 4), 1);
  EXPECT_EQ(wavefronts(strided(2), 2, 32, 4), 1);  // two lanes per word
}

TEST(BankConflicts, WideLanesAreServedInGroupsThatFillTheBanks) {
  EXPECT_EQ(wavefronts(strided(16), 16, 32, 4), 4);
  EXPECT_EQ(wavefronts(strided(8), 8, 32, 4), 2);
}

TEST(BankConflicts, OfLdmatrixAreGoneWithTheSwizzleAndThereWithoutIt) {
  // ldmatrix.x4 of a tile of 64 bytes of A per row: four matrices of eight rows of 16 bytes.
  for (const std::uint32_t row_chunks : {4U, 8U}) {
    std::vector<std::uint32_t> plain, swizzled;
    for (std::uint32_t matrix = 0; matrix < 4; ++matrix) {
      for (std::uint32_t row = 0; row < 8; ++row) {
        const std::uint32_t tile_row = row + 8 * (matrix % 2);
        const std::uint32_t chunk = matrix / 2;
        plain.push_back((tile_row * row_chunks + chunk) * 16);
        swizzled.push_back(swizzled_address(tile_row, chunk, row_chunks));
      }
    }
    EXPECT_EQ(wavefronts(swizzled, 16, 32, 4), 4) << row_chunks;
    EXPECT_EQ(wavefronts(plain, 16, 32, 4), row_chunks == 4 ? 16 : 32);
  }
}

TEST(BankConflicts, TheSwizzleGivesEveryChunkAnAddressOfItsOwn) {
  std::set<std::uint32_t> addresses;
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
      addresses.insert(swizzled_address(row, chunk, 4));
    }
  }
  EXPECT_EQ(addresses.size(), 256U);
  EXPECT_EQ(*addresses.rbegin(), 255U * 16);
}

}  // namespace
}  // namespace sptc::sim
