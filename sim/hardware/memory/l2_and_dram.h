// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/cache_tags.h"
#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/memory/transfer_limits.h"
#include "sim/hardware/sm/memory_range.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::memory {

/// Bytes of the pieces in which addresses are spread over the partitions of the L2.
inline constexpr std::uint64_t kOwnedBytes = 4096;

/// The partition, of one or two, that owns `address`.
inline std::size_t owning_partition(std::uint64_t address, std::size_t partitions) {
  const std::uint64_t scattered = (address / kOwnedBytes * 0x9E3779B97F4A7C15U) >> 40;
  return scattered & (partitions - 1);
}

/// The partition, of one or two, that SM `sm` asks: whether the binary digits of its number have an
/// odd sum. Which SMs sit where is not published; this order lets a small grid load both partitions
/// and repeats nothing.
constexpr int partition_of_sm(int sm, int partitions) {
  return std::popcount(static_cast<unsigned>(sm)) & (partitions - 1);
}

/// Whether `block` of the L2 is one of the `share` of all that launches before have left, or that are
/// written where they were.
inline bool is_in_share(std::uint64_t block, double share) {
  constexpr double kAll = 9007199254740992.0;  // 2^53
  return static_cast<double>((block * 0x9E3779B97F4A7C15U) >> 11) < share * kAll;
}

/// L2 and DRAM as all SMs see them. An SM asks the L2 partition of its half of the GPU; what that
/// one does not hold comes from the partition that owns the address, or from the DRAM behind it,
/// and stays in both. Reads of a block that is on its way wait for it. Writes go through to DRAM,
/// which takes them in its own time.
class L2AndDram {
 public:
  L2AndDram(const MemorySpec& spec, double clock_mhz, int sms);

  /// The L2 as launches before have left it, and no counts; the SM clock is `clock_mhz` from here
  /// on. Call between grids.
  void reset(double clock_mhz, const L2Contents& contents = {});

  /// SM `sm` reads or writes `range` from cycle `now` on; the cycle in which it is answered. Call
  /// in the order of the cycles. Partial sums are read when the flag of their CTA is set: they come
  /// from the L2, also where that CTA, whose flag nobody waits for here, is late.
  /// `waited_for`, if any: what the answer took longest for; of a block that is on its way what the
  /// latest one took that was fetched.
  std::int64_t access(std::size_t sm, const sm::MemoryRange& range, bool write, std::int64_t now,
                      isa::Operand operand = isa::Operand::kA, sm::MemoryLevel* waited_for = nullptr);

  MemoryBytes counters() const { return limits_.counters(); }
  MemoryActivity activity() const { return limits_.activity(); }

  /// What DRAM delivers in the latest access, or takes once the L2 writes it back; and how long its
  /// answer takes where nothing queues.
  const std::vector<sm::MemoryRange>& dram_ranges() const { return dram_ranges_; }
  std::int64_t latency() const { return read_.transfer.latency; }

 private:
  struct Fill {
    std::size_t partition;
    base::CacheTags::Slot slot;
    std::uint64_t block;
    base::CacheTags::Sectors sectors;
    std::int64_t ready;    ///< cycle before which a block that is on its way is not there
    std::int64_t latency;  ///< of an SM of that partition
  };
  struct Read {
    Transfer transfer;
    std::int64_t ready = 0;  ///< cycle before which a block that is on its way is not there
    std::vector<Fill> fills;
  };

  void read_block(std::size_t partition, std::uint64_t block, base::CacheTags::Sectors sectors, std::int64_t bytes,
                  isa::Operand operand, Read& read);
  /// Whether launches before have left `block`, which is not in the tags, there. It is asked for
  /// once: what has been replaced since is gone.
  bool is_left(std::uint64_t block, isa::Operand operand);
  std::size_t owner_of(std::uint64_t block) const;
  /// Adds a range for each row of `sectors` of `block`.
  void add_dram_ranges(std::uint64_t block, base::CacheTags::Sectors sectors);

  /// Capacity of a partition.
  base::Bytes capacity(double l2_share) const;

  const MemorySpec spec_;
  TransferLimits limits_;
  std::vector<std::size_t> partition_of_sm_;
  std::vector<base::CacheTags> tags_;  ///< per partition
  L2Contents contents_;
  std::vector<bool> asked_for_;  ///< by block, where contents_ has any
  Read read_;                    ///< used again, to keep its memory
  std::vector<sm::MemoryRange> dram_ranges_;
  sm::MemoryLevel filling_ = sm::MemoryLevel::kLatency;
};

}  // namespace sptc::memory
