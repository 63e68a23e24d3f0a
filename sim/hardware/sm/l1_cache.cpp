// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/l1_cache.h"

namespace sptc::sm {

void L1Cache::start(base::Bytes shared_memory) {
  tags_.reset();
  if (array_ > shared_memory) {
    tags_.emplace(base::Bytes(array_.count() - shared_memory.count()));
  }
}

bool L1Cache::holds(const MemoryRange& range) {
  bool all = tags_.has_value();
  base::CacheTags::for_each_block(
      range.address, range.bytes, [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
        all = all && (base::CacheTags::sectors(first, last) & ~tags_->use(block).present) == 0;
      });
  return all;
}

void L1Cache::fill(const MemoryRange& range) {
  if (tags_) {
    base::CacheTags::for_each_block(range.address, range.bytes,
                                    [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
                                      tags_->insert(block, base::CacheTags::sectors(first, last), 0, 0);
                                    });
  }
}

}  // namespace sptc::sm
