// SPDX-License-Identifier: Apache-2.0
#include "sim/base/cache_tags.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace sptc::base {
namespace {

constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15U;

/// The ways of a set, one bit each, that have `tag`. Without branches and from a table, so that
/// compilers compare several at once.
std::uint32_t ways_with(std::uint32_t tag, const std::uint32_t* tags) {
  constexpr std::uint32_t kBits[] = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                                     1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  static_assert(std::size(kBits) == CacheTags::kWays);
  std::uint32_t ways = 0;
  for (std::size_t way = 0; way < CacheTags::kWays; ++way) {
    ways |= tags[way] == tag ? kBits[way] : 0;
  }
  return ways;
}

std::uint64_t not_before_start(std::int64_t cycle) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, cycle));
}

/// Finaliser of SplitMix64.
std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

void CacheTags::reset(Bytes capacity) {
  sets_ = Divisor(
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, capacity.count() / (kBlockBytes * std::int64_t{kWays}))));
  find_row(0);
  random_ = kSeed;
  set_.assign(sets_.value(), {});
  if (tags_.size() < set_.size() * kWays) {
    tags_.resize(set_.size() * kWays);
    entries_.resize(tags_.size());
  }
}

std::uint32_t CacheTags::set_of(std::uint64_t block) {
  // Consecutive blocks, as many as there are sets, take every set once, each such row from another
  // one on: strides meet no set more often than others.
  if (block - first_of_row_ >= sets_.value()) {
    find_row(block);
  }
  const std::uint64_t set = set_of_first_ + (block - first_of_row_);
  return static_cast<std::uint32_t>(set < sets_.value() ? set : set - sets_.value());
}

void CacheTags::find_row(std::uint64_t block) {
  const std::uint64_t row = sets_.quotient(block);
  first_of_row_ = row * sets_.value();
  set_of_first_ = sets_.remainder(first_of_row_ + scatter(row));
}

bool CacheTags::holds(Slot slot, std::uint64_t block) const {
  return tags_[index(slot)] == static_cast<Tag>(block) && entries_[index(slot)].upper_half == block >> kTagBits;
}

CacheTags::Slot CacheTags::slot_of(std::uint64_t block) {
  Slot slot{set_of(block), kWays};
  std::uint32_t alike = ways_with(static_cast<Tag>(block), &tags_[std::size_t{slot.set} * kWays]);
  for (alike &= (1U << set_[slot.set].filled_ways) - 1; alike != 0; alike &= alike - 1) {
    slot.way = static_cast<std::uint32_t>(std::countr_zero(alike));
    if (holds(slot, block)) {
      return slot;
    }
  }
  slot.way = kWays;
  return slot;
}

CacheTags::Found CacheTags::found(Slot slot) const {
  if (slot.way == kWays) {
    return {0, 0, 0, slot};
  }
  const Entry& entry = entries_[index(slot)];
  return {entry.present, entry.coming, static_cast<std::int64_t>(entry.ready), slot};
}

void CacheTags::mark(Slot slot) {
  const auto bit = static_cast<Ways>(1U << slot.way);
  Set& set = set_[slot.set];
  if ((set.used & bit) != 0) {
    return;
  }
  set.used = static_cast<Ways>(set.used | bit);
  ++set.used_ways;
  if (set.used_ways == kWays) {
    set.used = bit;
    set.used_ways = 1;
  }
}

std::uint32_t CacheTags::way_to_replace(Set& set) {
  if (set.filled_ways < kWays) {
    return set.filled_ways++;
  }
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  auto left = static_cast<Ways>(~set.used);
  // Candidates are passed over from the lowest on.
  for (auto passed = random_ % (kWays - set.used_ways); passed > 0; --passed) {
    left = static_cast<Ways>(left & (left - 1));
  }
  return static_cast<std::uint32_t>(std::countr_zero(left));
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

CacheTags::Found CacheTags::find(std::uint64_t block) {
  return found(slot_of(block));
}

CacheTags::Found CacheTags::use(std::uint64_t block) {
  const Slot slot = slot_of(block);
  if (slot.way != kWays) {
    mark(slot);
  }
  return found(slot);
}

void CacheTags::insert(std::uint64_t block, Sectors sectors, std::int64_t now, std::int64_t ready) {
  insert(slot_of(block), block, sectors, now, ready);
}

void CacheTags::insert(Slot slot, std::uint64_t block, Sectors sectors, std::int64_t now, std::int64_t ready) {
  // Another one may have taken its place.
  if (slot.way == kWays || !holds(slot, block)) {
    slot.way = way_to_replace(set_[slot.set]);
    tags_[index(slot)] = static_cast<Tag>(block);
    Entry& entry = entries_[index(slot)];
    entry.present = entry.coming = sectors;
    entry.ready = not_before_start(ready) & kReady;
    entry.upper_half = (block >> kTagBits) & kUpperHalf;
  } else {
    Entry& entry = entries_[index(slot)];
    if (static_cast<std::int64_t>(entry.ready) <= now) {
      entry.coming = 0;
    }
    if (const Sectors absent = sectors & ~entry.present; absent != 0) {
      entry.present |= absent;
      entry.coming |= absent;
      entry.ready = std::max(not_before_start(ready), std::uint64_t{entry.ready}) & kReady;
    }
  }
  mark(slot);
}

}  // namespace sptc::base
