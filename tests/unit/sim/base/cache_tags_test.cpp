// SPDX-License-Identifier: Apache-2.0
#include "sim/base/cache_tags.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::base {
namespace {

TEST(CacheTags, KnowSectorsFromTheCycleInWhichTheyAreThere) {
  CacheTags tags(Bytes(1 << 20));
  EXPECT_EQ(tags.find(7).present, 0U);
  tags.insert(7, 0b1, 100, 123);
  EXPECT_EQ(tags.find(7).present, 0b1U);
  EXPECT_EQ(tags.find(7).ready_for(0b1), 123);
  EXPECT_EQ(tags.find(8).present, 0U);
  // While some come, what comes behind them is not told apart.
  tags.insert(7, 0b100, 110, 150);
  EXPECT_EQ(tags.find(7).present, 0b101U);
  EXPECT_EQ(tags.find(7).ready_for(0b1), 150);
  EXPECT_EQ(tags.find(7).ready_for(0b100), 150);
  // What is there is waited for no more, not even where it is put in again.
  tags.insert(7, 0b1110, 150, 170);
  EXPECT_EQ(tags.find(7).present, 0b1111U);
  EXPECT_EQ(tags.find(7).ready_for(0b101), 0);
  EXPECT_EQ(tags.find(7).ready_for(0b1010), 170);
}

TEST(CacheTags, SectorsAreThoseThatTheBytesTouch) {
  EXPECT_EQ(CacheTags::sectors(0, 32), 0b1U);
  EXPECT_EQ(CacheTags::sectors(31, 33), 0b11U);
  EXPECT_EQ(CacheTags::sectors(64, 65), 0b100U);
  EXPECT_EQ(CacheTags::sectors(0, 1024), ~0U);
}

TEST(CacheTags, HoldNoMoreThanTheirCapacity) {
  CacheTags tags(Bytes(64 << 10));
  for (std::uint64_t block = 0; block < 1000; ++block) {
    tags.insert(block, 1, 0, 0);
  }
  int held = 0;
  for (std::uint64_t block = 0; block < 1000; ++block) {
    held += tags.find(block).present != 0 ? 1 : 0;
  }
  EXPECT_EQ(held, 64);
}

/// Share of hits of a buffer that is read over and over.
double hit_ratio(double footprint_per_capacity) {
  constexpr int kBlocks = 4096;
  CacheTags tags(Bytes(kBlocks * CacheTags::kBlockBytes));
  const auto footprint = static_cast<std::uint64_t>(kBlocks * footprint_per_capacity);
  int hits = 0;
  constexpr int kPasses = 12;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::uint64_t block = 0; block < footprint; ++block) {
      const bool hit = tags.use(block).present != 0;
      hits += hit && pass >= kPasses / 2 ? 1 : 0;
      if (!hit) {
        tags.insert(block, 1, 0, 0);
      }
    }
  }
  return hits / (static_cast<double>(footprint) * kPasses / 2);
}

TEST(CacheTags, KeepPartOfAStreamThatIsLargerThanTheCache) {
  for (const double footprint : {1.2, 1.35, 1.5, 1.75, 3.0}) {
    double expected = 0;
    for (int i = 0; i < 200; ++i) {
      expected = CacheTags::survival(footprint, expected);
    }
    EXPECT_NEAR(hit_ratio(footprint), expected, 0.03) << footprint;
  }
  EXPECT_LT(hit_ratio(1.5), 0.3);  // replacement at random would keep 0.42
  EXPECT_EQ(hit_ratio(1), 1);
}

TEST(CacheTags, PutInWhereABlockWasSoughtAsWithoutKnowingThat) {
  CacheTags by_slot(Bytes(16 << 10)), by_block(Bytes(16 << 10));  // one set
  std::uint64_t random = 1;
  for (std::int64_t i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    // Those that come in between may take the place of the last one.
    const std::uint64_t first = (random >> 40) % 30;
    std::vector<CacheTags::Found> found;
    for (std::uint64_t block = first; block < first + 4; ++block) {
      found.push_back(by_slot.use(block));
      EXPECT_EQ(by_block.use(block).present, found.back().present) << i;
    }
    for (std::uint64_t behind = 4; behind-- > 0;) {
      by_slot.insert(found[behind].slot, first + behind, 1U << behind, i, i);
      by_block.insert(first + behind, 1U << behind, i, i);
    }
  }
  for (std::uint64_t block = 0; block < 34; ++block) {
    EXPECT_EQ(by_slot.find(block).present, by_block.find(block).present) << block;
    EXPECT_EQ(by_slot.find(block).ready_for(~0U), by_block.find(block).ready_for(~0U)) << block;
  }
}

TEST(CacheTags, NeverTakeABlockForAnotherOneHoweverFarApart) {
  constexpr std::uint64_t kApart = std::uint64_t{1} << 32;
  CacheTags tags(Bytes(16 << 10));  // one set
  for (std::uint64_t block = 5; block < 16 * kApart; block += kApart) {
    EXPECT_EQ(tags.find(block).present, 0U) << block;
    tags.insert(block, static_cast<CacheTags::Sectors>(1U << (block / kApart)), 0, 0);
  }
  for (std::uint64_t block = 5; block < 16 * kApart; block += kApart) {
    EXPECT_EQ(tags.find(block).present, 1U << (block / kApart)) << block;
  }
}

TEST(CacheTags, KeepStreamsThatFillThemTogetherWhicheverIsAskedForFirst) {
  CacheTags tags(Bytes(64 << 10));  // four sets: every row of four blocks takes each once
  constexpr std::uint64_t kOther = 4 * 1000003;
  for (const std::uint64_t block : {31, 3, 17, 4, 29, 0, 5, 11}) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      tags.insert((block * 4 + i) % 32, 1, 0, 0);
      tags.insert(kOther + (block * 4 + i) % 32, 1, 0, 0);
    }
  }
  for (std::uint64_t block = 0; block < 32; ++block) {
    tags.insert(kOther + 31 - block, 1, 0, 0);
    tags.insert(block, 1, 0, 0);
  }
  for (std::uint64_t block = 0; block < 32; ++block) {
    EXPECT_EQ(tags.find(block).present, 1U) << block;
  }
  for (std::uint64_t block = 0; block < 32; ++block) {
    EXPECT_EQ(tags.find(kOther + block).present, 1U) << block;
  }
}

TEST(CacheTags, AreAsNewAfterAResetLargerSmallerOrOfTheSameSize) {
  CacheTags again(Bytes(64 << 10));
  for (const std::int64_t kib : {64, 16, 256, 1024, 64}) {
    again.reset(Bytes(kib << 10));
    CacheTags fresh{Bytes(kib << 10)};
    const auto blocks = static_cast<std::uint64_t>(2 * kib);
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      for (std::uint64_t block = 0; block < blocks; ++block) {
        ASSERT_EQ(again.use(block).present, fresh.use(block).present) << kib << " " << block;
        again.insert(block, 1, 0, 0);
        fresh.insert(block, 1, 0, 0);
      }
    }
  }
}

TEST(CacheTags, SpareWhatWasUsedInThisTurn) {
  constexpr int kWays = 16;
  CacheTags tags(Bytes(kWays * CacheTags::kBlockBytes));  // one set
  for (std::uint64_t block = 0; block < kWays; ++block) {
    tags.insert(block, 1, 0, 0);
  }
  // Block 15 filled the set and began a new turn; block 3 is used in it.
  EXPECT_EQ(tags.use(3).present, 1U);
  for (std::uint64_t block = 100; block < 100 + kWays - 2; ++block) {
    tags.insert(block, 1, 0, 0);
  }
  EXPECT_EQ(tags.find(3).present, 1U);
  EXPECT_EQ(tags.find(15).present, 1U);
  for (const std::uint64_t block : {0U, 1U, 2U, 4U, 14U}) {
    EXPECT_EQ(tags.find(block).present, 0U) << block;
  }
}

}  // namespace
}  // namespace sptc::base
