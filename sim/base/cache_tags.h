// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "sim/base/divisor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sptc::base {

/// Tags of a cache, L1 or L2, with blocks of 1 KiB in sectors of 32 bytes, set-associative.
/// Replaced is one that was not recently used: every use marks its entry, the marks of a set are
/// cleared when all have one, and a pseudo-random entry without a mark goes. The hits of streams
/// that are larger than the L2 of an A100 so fall as the bandwidth does that RRZE-HPC gpu-benches
/// publishes.
class CacheTags {
 public:
  static constexpr std::int64_t kBlockBytes = 1024;
  static constexpr std::uint32_t kWays = 16;

  explicit CacheTags(Bytes capacity) : sets_(1) { reset(capacity); }

  /// Empties it, as a new one of that capacity.
  void reset(Bytes capacity);

  /// Sectors of a block, one bit each.
  using Sectors = std::uint32_t;
  static constexpr std::int64_t kSectorBytes = kBlockBytes / 32;

  /// The sectors that bytes [`first`, `last`) of a block touch.
  static Sectors sectors(std::int64_t first, std::int64_t last);

  /// Calls `visit` with each block that `bytes` from `address` on touch, and with the first and the
  /// end of them in the block.
  template <typename Visit>
  static void for_each_block(std::uint64_t address, std::int64_t bytes, Visit visit) {
    constexpr auto kBlock = static_cast<std::uint64_t>(kBlockBytes);
    const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
    for (std::uint64_t block = address / kBlock; block * kBlock < end; ++block) {
      const std::uint64_t begin = block * kBlock;
      visit(block, static_cast<std::int64_t>(std::max(address, begin) - begin),
            static_cast<std::int64_t>(std::min(end, begin + kBlock) - begin));
    }
  }

  /// Where a block is, or the set in which it would be.
  struct Slot {
    std::uint32_t set = 0;
    std::uint32_t way = kWays;  ///< kWays: nowhere
  };
  struct Found {
    Sectors present = 0;  ///< some of them on their way
    Sectors coming = 0;   ///< those; they are there from cycle `ready` on
    std::int64_t ready = 0;
    Slot slot;
    /// Cycle from which on all of `sectors` that are present are there.
    std::int64_t ready_for(Sectors sectors) const { return (sectors & coming) != 0 ? ready : 0; }
  };
  Found find(std::uint64_t block);
  /// The same, and marks the block as used.
  Found use(std::uint64_t block);
  /// Puts sectors in that are on their way from cycle `now` to cycle `ready`, those that are
  /// present already aside. Sectors of a block that are on their way together are there when the
  /// last of them is. A new block replaces another one of its set.
  void insert(std::uint64_t block, Sectors sectors, std::int64_t now, std::int64_t ready);
  /// The same where `slot` was found for the block, and none but others have been put in since.
  void insert(Slot slot, std::uint64_t block, Sectors sectors, std::int64_t now, std::int64_t ready);

  /// Share of the blocks that are still there when `used` times the capacity of other blocks has
  /// been used since they were, of which `hit_ratio` was there already. While the ways of a set
  /// get their marks, once each, every miss takes a random one of those without: a block that came
  /// at a random time of one such turn is gone by the part p of the next with 1 - (1 - p)^misses.
  static double survival(double used, double hit_ratio);
  /// Times the capacity behind which nothing survives.
  static constexpr double kForgotten = 2;

 private:
  /// Ways of a set, one bit each.
  using Ways = std::uint16_t;
  struct Set {
    Ways used = 0;  ///< recently
    std::uint8_t used_ways = 0;
    std::uint8_t filled_ways = 0;  ///< the first ones
  };
  /// Lower half of the number of a block. A look-up compares those first: a set of them is one line
  /// of a cache of the host.
  using Tag = std::uint32_t;
  static constexpr int kTagBits = std::numeric_limits<Tag>::digits;
  /// Bits of the rest: blocks of 64-bit addresses have 54, and no simulation gets as far as cycle
  /// 2^42.
  static constexpr int kReadyBits = 42, kUpperHalfBits = 54 - kTagBits;
  static constexpr std::uint64_t kReady = (std::uint64_t{1} << kReadyBits) - 1;
  static constexpr std::uint64_t kUpperHalf = (std::uint64_t{1} << kUpperHalfBits) - 1;
  struct Entry {
    Sectors present = 0, coming = 0;
    std::uint64_t ready : kReadyBits = 0;
    std::uint64_t upper_half : kUpperHalfBits = 0;  ///< of the number
  };
  static_assert(sizeof(Entry) == 16);

  std::uint32_t set_of(std::uint64_t block);
  void find_row(std::uint64_t block);
  Slot slot_of(std::uint64_t block);
  static std::size_t index(Slot slot) { return std::size_t{slot.set} * kWays + slot.way; }
  bool holds(Slot slot, std::uint64_t block) const;
  Found found(Slot slot) const;
  std::uint32_t way_to_replace(Set& set);
  void mark(Slot slot);

  Divisor sets_;
  // The row of consecutive blocks that was looked at last, and the set of the first one.
  std::uint64_t first_of_row_ = 0, set_of_first_ = 0;
  std::uint64_t random_ = 0;
  std::vector<Set> set_;
  // Set after set; nobody looks at ways that are not filled.
  std::vector<Tag> tags_;
  std::vector<Entry> entries_;
};

}  // namespace sptc::base
