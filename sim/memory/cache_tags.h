// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// Tags of a cache whose blocks are pieces of transactions (1 KiB), set-associative. Replacement is
/// pseudo-random: a stream that is a little larger than the cache keeps part of its hits, as the
/// bandwidth of A100's L2 by footprint shows, where LRU would lose all of them at once.
class CacheTags {
 public:
  static constexpr std::int64_t kBlockBytes = 1024;

  explicit CacheTags(Bytes capacity);

  /// Cycle from which on the block is there, or -1: absent.
  std::int64_t find(std::uint64_t block) const;
  /// Puts the block in, there from `ready` on. It replaces another one of its set.
  void insert(std::uint64_t block, std::int64_t ready);
  void clear();

 private:
  static constexpr int kWays = 32;
  struct Entry {
    std::uint64_t block = kEmpty;
    std::int64_t ready = 0;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::size_t first_of_set(std::uint64_t block) const;

  std::uint64_t sets_;
  std::uint64_t random_;
  std::vector<Entry> entries_;
};

}  // namespace sptc::sim
