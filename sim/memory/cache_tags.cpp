// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/cache_tags.h"

#include <algorithm>

namespace sptc::sim {
namespace {

constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15U;

/// Finaliser of SplitMix64: spreads strided addresses over the sets.
std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

CacheTags::CacheTags(Bytes capacity)
    : sets_(static_cast<std::uint64_t>(
          std::max<std::int64_t>(1, capacity.count() / (kBlockBytes * kWays)))),
      random_(kSeed),
      entries_(sets_ * kWays) {}

std::size_t CacheTags::first_of_set(std::uint64_t block) const {
  return static_cast<std::size_t>(scatter(block) % sets_) * kWays;
}

CacheTags::Sectors CacheTags::sectors(std::int64_t first, std::int64_t last) {
  const std::int64_t begin = first / kSectorBytes;
  const std::int64_t count = (last + kSectorBytes - 1) / kSectorBytes - begin;
  const std::uint64_t ones = (std::uint64_t{1} << count) - 1;
  return static_cast<Sectors>(ones << begin);
}

CacheTags::Found CacheTags::find(std::uint64_t block) const {
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(first_of_set(block));
  const auto entry =
      std::find_if(first, first + kWays, [&](const Entry& e) { return e.block == block; });
  return entry == first + kWays ? Found{} : entry->found;
}

void CacheTags::insert(std::uint64_t block, Sectors sectors, std::int64_t ready) {
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(first_of_set(block));
  auto place = std::find_if(first, first + kWays,
                            [&](const Entry& e) { return e.block == block || e.block == kEmpty; });
  if (place == first + kWays) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    place = first + static_cast<std::ptrdiff_t>(random_ % kWays);
  }
  if (place->block != block) {
    *place = {block, {sectors, ready}};
    return;
  }
  place->found.present |= sectors;
  place->found.ready = std::max(place->found.ready, ready);
}

void CacheTags::clear() {
  std::fill(entries_.begin(), entries_.end(), Entry{});
  random_ = kSeed;
}

}  // namespace sptc::sim
