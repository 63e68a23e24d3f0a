// SPDX-License-Identifier: Apache-2.0
// Why the programs of GEMM kernels have no bank conflicts: the layouts of CUTLASS.
#include "models/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace sptc::sim {
namespace {

/// Wavefronts that a load of `bytes_per_lane` bytes at each of `addresses` [bytes] takes from a
/// memory of `banks` banks of `bank_bytes` bytes. Lanes are served in groups that together fill one
/// access to all banks (32 lanes of 4 bytes, 8 lanes of 16 bytes); a group takes as many wavefronts
/// as different words meet in the most used bank. Lanes that read the same word share it.
/// Source: CUDA C++ Programming Guide, shared memory of compute capability 5.x and later.
int wavefronts(std::span<const std::uint32_t> addresses, int bytes_per_lane, int banks,
               int bank_bytes) {
  ensure(bytes_per_lane > 0 && banks > 0 && bank_bytes > 0, "wavefronts: sizes must be positive");
  const auto lanes_per_group = static_cast<std::size_t>(
      std::max(1, banks * bank_bytes / std::max(bytes_per_lane, bank_bytes)));
  int total = 0;
  for (std::size_t first = 0; first < addresses.size(); first += lanes_per_group) {
    const std::size_t end = std::min(first + lanes_per_group, addresses.size());
    std::vector<std::set<std::uint32_t>> words(static_cast<std::size_t>(banks));
    for (std::size_t lane = first; lane < end; ++lane) {
      const std::uint32_t last = addresses[lane] + static_cast<std::uint32_t>(bytes_per_lane) - 1;
      for (std::uint32_t word = addresses[lane] / static_cast<std::uint32_t>(bank_bytes);
           word <= last / static_cast<std::uint32_t>(bank_bytes); ++word) {
        words[word % static_cast<std::uint32_t>(banks)].insert(word);
      }
    }
    std::size_t most = 1;
    for (const std::set<std::uint32_t>& bank : words) {
      most = std::max(most, bank.size());
    }
    total += static_cast<int>(most);
  }
  return total;
}

/// Byte address of the 16-byte chunk `chunk` of row `row` of a tile with `row_chunks` chunks per
/// row (a power of two, at most 8), permuted as CUTLASS's shared-memory layouts do
/// (TensorOpMultiplicand: chunk index XOR row), so that ldmatrix meets no bank twice.
std::uint32_t swizzled_address(std::uint32_t row, std::uint32_t chunk, std::uint32_t row_chunks) {
  constexpr std::uint32_t kChunkBytes = 16;
  constexpr std::uint32_t kChunksPerLine = 8;  // 128 bytes: once around the banks
  const std::uint32_t line = (row * row_chunks + chunk) / kChunksPerLine;
  const std::uint32_t in_line = (row * row_chunks + chunk) % kChunksPerLine;
  return (line * kChunksPerLine + (in_line ^ (line % kChunksPerLine))) * kChunkBytes;
}

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

TEST(BankConflicts, OfStoresOneBehindTheOtherAreGoneHoweverWideTheBanksAre) {
  for (const std::uint32_t row_chunks : {1U, 2U, 4U, 8U}) {
    std::vector<std::uint32_t> addresses;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      addresses.push_back(swizzled_address(lane / row_chunks, lane % row_chunks, row_chunks));
    }
    for (const int banks : {8, 16, 32, 64}) {
      for (const int bank_bytes : {2, 4, 8}) {
        EXPECT_EQ(wavefronts(addresses, 16, banks, bank_bytes), 512 / (banks * bank_bytes));
      }
    }
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
