// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// Tags of a cache, L1 or L2, with blocks of 1 KiB in sectors of 32 bytes, set-associative.
/// Replaced is one that was not recently used: every use marks its entry, the marks of a set are
/// cleared when all have one, and a pseudo-random entry without a mark goes. Streams that are
/// larger than the L2 of an A100 lose their hits with the footprint as the published bandwidth does
/// (configs/CALIBRATION.md); LRU would lose all at once, random replacement keeps too many.
class CacheTags {
 public:
  static constexpr std::int64_t kBlockBytes = 1024;

  explicit CacheTags(Bytes capacity);

  /// Sectors of a block, one bit each.
  using Sectors = std::uint32_t;
  static constexpr std::int64_t kSectorBytes = kBlockBytes / 32;

  /// The sectors that bytes [`first`, `last`) of a block touch.
  static Sectors sectors(std::int64_t first, std::int64_t last);

  struct Found {
    Sectors present = 0;
    std::int64_t ready = 0;  ///< cycle from which on all of them are there
  };
  Found find(std::uint64_t block) const;
  /// The same, and marks the block as used.
  Found use(std::uint64_t block);
  /// Puts sectors in, there from `ready` on. A new block replaces another one of its set.
  void insert(std::uint64_t block, Sectors sectors, std::int64_t ready);

  /// Share of the blocks that are still there when `used` times the capacity of other blocks has
  /// been used since they were, of which `hit_ratio` was there already. While the ways of a set
  /// get their marks, once each, every miss takes a random one of those without: a block that came
  /// at a random time of one such turn is gone by the part p of the next with 1 - (1 - p)^misses.
  static double survival(double used, double hit_ratio);
  /// Times the capacity behind which nothing survives.
  static constexpr double kForgotten = 2;

 private:
  static constexpr std::size_t kWays = 16;
  struct Entry {
    std::uint64_t block = kEmpty;
    Found found;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  /// Ways of a set, one bit each.
  using Marks = std::uint16_t;
  static constexpr Marks kAllWays = 0xFFFF;

  std::size_t set_of(std::uint64_t block) const;
  /// The way of set `set` that holds `block`, or kWays.
  std::size_t way_of(std::size_t set, std::uint64_t block) const;
  std::size_t way_to_replace(std::size_t set);
  void mark(std::size_t set, std::size_t way);

  std::uint64_t sets_;
  std::uint64_t random_;
  std::vector<Entry> entries_;  ///< set after set
  std::vector<Marks> used_;     ///< recently, per set
};

}  // namespace sptc::sim
