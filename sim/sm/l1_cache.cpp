// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/l1_cache.h"

#include <algorithm>

namespace sptc::sim {
namespace {

/// Calls `visit` with each block that `range` touches and its sectors.
template <typename Visit>
void for_each_block(const MemoryRange& range, Visit visit) {
  constexpr auto kBlock = static_cast<std::uint64_t>(CacheTags::kBlockBytes);
  const std::uint64_t end = range.address + static_cast<std::uint64_t>(range.bytes);
  for (std::uint64_t block = range.address / kBlock; block * kBlock < end; ++block) {
    const std::uint64_t begin = block * kBlock;
    visit(block,
          CacheTags::sectors(static_cast<std::int64_t>(std::max(range.address, begin) - begin),
                             static_cast<std::int64_t>(std::min(end, begin + kBlock) - begin)));
  }
}

}  // namespace

void L1Cache::start(Bytes shared_memory) {
  tags_.reset();
  if (array_ > shared_memory) {
    tags_.emplace(Bytes(array_.count() - shared_memory.count()));
  }
}

bool L1Cache::holds(const MemoryRange& range) {
  bool all = tags_.has_value();
  for_each_block(range, [&](std::uint64_t block, CacheTags::Sectors sectors) {
    all = all && (sectors & ~tags_->use(block).present) == 0;
  });
  return all;
}

void L1Cache::fill(const MemoryRange& range) {
  if (tags_) {
    for_each_block(range, [&](std::uint64_t block, CacheTags::Sectors sectors) {
      tags_->insert(block, sectors, 0, 0);
    });
  }
}

}  // namespace sptc::sim
