// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// Tags of a cache with blocks of 1 KiB in sectors of 32 bytes, set-associative. Replacement is
/// pseudo-random: a stream that is a little larger than the cache keeps part of its hits, as the
/// bandwidth of A100's L2 by footprint shows, where LRU would lose all of them at once.
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
  /// Puts sectors in, there from `ready` on. A new block replaces another one of its set.
  void insert(std::uint64_t block, Sectors sectors, std::int64_t ready);
  void clear();

 private:
  static constexpr int kWays = 32;
  struct Entry {
    std::uint64_t block = kEmpty;
    Found found;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::size_t first_of_set(std::uint64_t block) const;

  std::uint64_t sets_;
  std::uint64_t random_;
  std::vector<Entry> entries_;
};

}  // namespace sptc::sim
