// SPDX-License-Identifier: Apache-2.0
#include "sim/base/cache_tags.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sptc::sim {
namespace {

constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15U;

/// Finaliser of SplitMix64.
std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

CacheTags::CacheTags(Bytes capacity)
    : sets_(static_cast<std::uint64_t>(std::max<std::int64_t>(
          1, capacity.count() / (kBlockBytes * static_cast<std::int64_t>(kWays))))),
      random_(kSeed),
      entries_(sets_ * kWays),
      used_(sets_) {}

std::size_t CacheTags::set_of(std::uint64_t block) const {
  // As many consecutive blocks as there are sets take every set once, each such row from another
  // one on: strides meet no set more often than others.
  return static_cast<std::size_t>((block + scatter(block / sets_)) % sets_);
}

std::size_t CacheTags::way_of(std::size_t set, std::uint64_t block) const {
  std::size_t way = 0;
  while (way < kWays && entries_[set * kWays + way].block != block) {
    ++way;
  }
  return way;
}

void CacheTags::mark(std::size_t set, std::size_t way) {
  const auto bit = static_cast<Marks>(1U << way);
  Marks& used = used_[set];
  used = static_cast<Marks>(used | bit);
  if (used == kAllWays) {
    used = bit;
  }
}

std::size_t CacheTags::way_to_replace(std::size_t set) {
  if (const std::size_t empty = way_of(set, kEmpty); empty < kWays) {
    return empty;
  }
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const auto candidates = static_cast<Marks>(~used_[set]);
  Marks left = candidates;
  // As many of the candidates, from the lowest on, are passed over.
  for (auto passed = random_ % static_cast<unsigned>(std::popcount(candidates)); passed > 0;
       --passed) {
    left = static_cast<Marks>(left & (left - 1));
  }
  return static_cast<std::size_t>(std::countr_zero(left));
}

double CacheTags::survival(double used, double hit_ratio) {
  const double exponent = 2 - hit_ratio;
  if (used <= 1) {
    return 1 - used + (1 - std::pow(1 - used, exponent)) / exponent;
  }
  return used < kForgotten ? std::pow(kForgotten - used, exponent) / exponent : 0;
}

CacheTags::Sectors CacheTags::sectors(std::int64_t first, std::int64_t last) {
  const std::int64_t begin = first / kSectorBytes;
  const std::int64_t count = (last + kSectorBytes - 1) / kSectorBytes - begin;
  const std::uint64_t ones = (std::uint64_t{1} << count) - 1;
  return static_cast<Sectors>(ones << begin);
}

CacheTags::Found CacheTags::find(std::uint64_t block) const {
  const std::size_t set = set_of(block);
  const std::size_t way = way_of(set, block);
  return way == kWays ? Found{} : entries_[set * kWays + way].found;
}

CacheTags::Found CacheTags::use(std::uint64_t block) {
  const std::size_t set = set_of(block);
  const std::size_t way = way_of(set, block);
  if (way == kWays) {
    return {};
  }
  mark(set, way);
  return entries_[set * kWays + way].found;
}

void CacheTags::insert(std::uint64_t block, Sectors sectors, std::int64_t ready) {
  const std::size_t set = set_of(block);
  std::size_t way = way_of(set, block);
  if (way == kWays) {
    way = way_to_replace(set);
    entries_[set * kWays + way] = {block, {}};
  }
  mark(set, way);
  Found& found = entries_[set * kWays + way].found;
  found.present |= sectors;
  found.ready = std::max(found.ready, ready);
}

}  // namespace sptc::sim
