// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/cache_tags.h"
#include "sim/hardware/sm/memory_range.h"
#include "sim/hardware/sm/sm_spec.h"

#include <cstdint>
#include <optional>

namespace sptc::sm {

/// The tags of an SM's L1: which bytes of global memory it holds. It is as large as what the shared memory of the
/// resident CTAs leaves of the array that both live in. AsyncCopyUnit asks it, and knows what a hit costs.
///
/// Loads into registers look here first. TMA, stores and every cp.async pass by: those of 16 bytes (.cg), as PTX says,
/// and those of 4 and 8, which PTX sends through the L1 (SmSpec::async_copy_bytes). A load that does not find all of
/// its bytes asks the L2 for all of them, also where another load of them is under way.
class L1Cache {
 public:
  explicit L1Cache(const SmSpec& spec) : array_(spec.l1_and_shared_memory) { start({}); }

  /// Empties it and gives it what `shared_memory` bytes of shared memory leave.
  void start(base::Bytes shared_memory) {
    tags_.reset();
    if (array_ > shared_memory) {
      tags_.emplace(base::Bytes(array_.count() - shared_memory.count()));
    }
  }

  /// Whether all of `range` is there; marks it as used.
  bool holds(const MemoryRange& range) {
    bool all = tags_.has_value();
    base::CacheTags::for_each_block(
        range.address, range.bytes, [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
          all = all && (base::CacheTags::sectors(first, last) & ~tags_->use(block).present) == 0;
        });
    return all;
  }
  /// Keeps `range`, which a load has brought.
  void fill(const MemoryRange& range) {
    if (tags_) {
      base::CacheTags::for_each_block(range.address, range.bytes,
                                      [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
                                        tags_->insert(block, base::CacheTags::sectors(first, last), 0, 0);
                                      });
    }
  }

 private:
  base::Bytes array_;
  std::optional<base::CacheTags> tags_;  ///< absent: shared memory has all of the array
};

}  // namespace sptc::sm
