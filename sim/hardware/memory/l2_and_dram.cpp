// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/l2_and_dram.h"

#include <algorithm>
#include <bit>

namespace sptc::memory {

L2AndDram::L2AndDram(const MemorySpec& spec, double clock_mhz, int sms)
    : spec_(spec),
      limits_(spec, clock_mhz, sms),
      tags_(static_cast<std::size_t>(spec.l2_partitions), base::CacheTags(capacity(1))) {
  for (int sm = 0; sm < sms; ++sm) {
    partition_of_sm_.push_back(static_cast<std::size_t>(partition_of_sm(sm, spec.l2_partitions)));
  }
}

base::Bytes L2AndDram::capacity(double l2_share) const {
  const auto of_all = static_cast<std::int64_t>(l2_share * static_cast<double>(spec_.l2_capacity.count()));
  return base::Bytes(of_all / spec_.l2_partitions);
}

void L2AndDram::reset(double clock_mhz, const L2Contents& contents) {
  contents_ = contents;
  asked_for_.clear();
  limits_.reset(clock_mhz, contents);
  for (base::CacheTags& tags : tags_) {
    tags.reset(capacity(contents.share));
  }
}

bool L2AndDram::is_left(std::uint64_t block, isa::Operand operand) {
  const double share = operand == isa::Operand::kB ? contents_.resident_b : contents_.resident_a;
  if (share <= 0 || operand == isa::Operand::kPartialSum) {
    return false;
  }
  const auto index = static_cast<std::size_t>(block);
  if (index >= asked_for_.size()) {
    asked_for_.resize(2 * index + 1);
  }
  if (asked_for_[index]) {
    return false;
  }
  asked_for_[index] = true;
  return is_in_share(block, share);
}

std::size_t L2AndDram::owner_of(std::uint64_t block) const {
  constexpr auto kBlock = static_cast<std::uint64_t>(base::CacheTags::kBlockBytes);
  return owning_partition(block * kBlock, tags_.size());
}

void L2AndDram::add_dram_ranges(std::uint64_t block, base::CacheTags::Sectors sectors) {
  const std::uint64_t begin = block * static_cast<std::uint64_t>(base::CacheTags::kBlockBytes);
  for (std::uint64_t left = sectors; left != 0;) {
    const int first = std::countr_zero(left);
    const int count = std::countr_one(left >> first);
    dram_ranges_.push_back({begin + static_cast<std::uint64_t>(first * base::CacheTags::kSectorBytes),
                            count * base::CacheTags::kSectorBytes});
    left &= ~(((std::uint64_t{1} << count) - 1) << first);
  }
}

void L2AndDram::read_block(std::size_t partition, std::uint64_t block, base::CacheTags::Sectors sectors,
                           std::int64_t bytes, isa::Operand operand, Read& read) {
  std::int64_t latency = spec_.l2_near_latency_cycles;
  const base::CacheTags::Found near = tags_[partition].use(block);
  std::int64_t ready = near.ready_for(sectors);
  // Bytes in sectors that are not there.
  const auto missing = [&](base::CacheTags::Sectors present) -> std::int64_t {
    const base::CacheTags::Sectors absent = sectors & ~present;
    if (absent == 0 || absent == sectors) {  // mostly
      return absent == 0 ? 0 : bytes;
    }
    return bytes * std::popcount(absent) / std::popcount(sectors);
  };
  if (const std::int64_t absent = missing(near.present); absent > 0) {
    const std::size_t owner = owner_of(block);
    const base::CacheTags::Found there = owner == partition ? near : tags_[owner].use(block);
    const std::int64_t not_there = owner == partition ? absent : missing(near.present | there.present);
    const bool there_already = operand == isa::Operand::kPartialSum || (not_there == bytes && is_left(block, operand));
    const std::int64_t from_dram = there_already ? 0 : not_there;
    const std::int64_t behind_owner = from_dram > 0 ? spec_.dram_access_latency_cycles : 0;
    const std::int64_t way = owner == partition ? 0 : spec_.l2_far_latency_cycles - spec_.l2_near_latency_cycles;
    latency = behind_owner + spec_.l2_near_latency_cycles + way;
    if (const std::int64_t coming = there.ready_for(sectors); coming > 0) {
      ready = std::max(ready, coming + way);
    }
    read.transfer.dram_bytes += from_dram;
    if (from_dram > 0) {
      add_dram_ranges(block, sectors & ~(near.present | there.present));
    }
    if (not_there > 0) {
      read.fills.push_back({owner, there.slot, block, sectors, 0, latency - way});
    }
    if (owner != partition) {
      read.transfer.far_bytes += absent;
      read.fills.push_back({partition, near.slot, block, sectors, ready, latency});
    }
  }
  read.ready = std::max(read.ready, ready);
  read.transfer.latency = std::max(read.transfer.latency, latency);
}

std::int64_t L2AndDram::access(std::size_t sm, const sm::MemoryRange& range, bool write, std::int64_t now,
                               isa::Operand operand, sm::MemoryLevel* waited_for) {
  const std::size_t partition = partition_of_sm_[sm];
  Read& read = read_;
  read.transfer = {};
  read.transfer.write = write;
  read.transfer.of_d = write && operand != isa::Operand::kPartialSum;
  read.transfer.bytes = range.bytes;
  read.transfer.readers = range.readers;
  read.ready = 0;
  read.fills.clear();
  dram_ranges_.clear();
  const auto visit = [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
    const base::CacheTags::Sectors sectors = base::CacheTags::sectors(first, last);
    if (read.transfer.write) {
      read.transfer.latency = spec_.l2_near_latency_cycles;
      read.transfer.dram_bytes += last - first;
      add_dram_ranges(block, sectors);
      const std::size_t owner = owner_of(block);
      read.fills.push_back({owner, tags_[owner].find(block).slot, block, sectors, 0, read.transfer.latency});
    } else {
      read_block(partition, block, sectors, last - first, operand, read);
    }
  };
  base::CacheTags::for_each_block(range.address, range.bytes, visit);
  const TransferLimits::Completion done = limits_.complete(now, sm, partition, read.transfer);
  const std::int64_t arrived = done.cycle;
  for (const Fill& fill : read.fills) {
    const std::int64_t there = arrived - (read.transfer.latency - fill.latency);
    tags_[fill.partition].insert(fill.slot, fill.block, fill.sectors, now, std::max(fill.ready, there));
  }
  if (!read.fills.empty()) {
    filling_ = done.waited_for;
  }
  if (waited_for != nullptr) {
    *waited_for = read.ready > arrived ? filling_ : done.waited_for;
  }
  return std::max(read.ready, arrived);
}

}  // namespace sptc::memory
