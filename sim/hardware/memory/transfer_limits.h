// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"
#include "sim/hardware/memory/memory_bytes.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/sm/memory_range.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::memory {

/// What launches before have left in the L2 for a grid.
struct L2Contents {
  double resident_a = 0;   ///< share of A, with its metadata,
  double resident_b = 0;   ///< and of B
  double resident_d = 0;   ///< share of D that is written where it was: DRAM has not taken it
  double dirty_bytes = 0;  ///< of the rest of D: DRAM has yet to take them
  double share = 1;        ///< of its capacity that the L2 keeps: see GridReuse::l2_share_of
};

/// What a transaction moves over each part of the memory system.
struct Transfer {
  bool write = false;
  bool of_d = false;           ///< written rows of D, not partial sums
  std::int64_t bytes = 0;      ///< over the SM's port and its partition of the L2
  int readers = 1;             ///< SMs for which the L2 reads them once: see MemoryRange
  std::int64_t far_bytes = 0;  ///< of the bytes, also over the other partition
  std::int64_t dram_bytes = 0;
  std::int64_t latency = 0;  ///< of an idle system
};

/// The bandwidth limits of the memory system: a port per SM, the partitions of the L2, DRAM. Every
/// transaction queues at each of them from the moment it arrives and ends when the slowest has
/// passed its last byte, a latency later.
///
/// The L2 takes writes in. DRAM gets them while it is idle, or, once the L2 is as dirty as it may
/// be, before what is asked for next.
class TransferLimits {
 public:
  TransferLimits(const MemorySpec& spec, double clock_mhz, int ports);

  /// Starts DRAM at another SM clock, from an idle system on whose L2 holds `contents`.
  void reset(double clock_mhz, const L2Contents& contents = {});

  struct Completion {
    std::int64_t cycle = 0;
    sm::MemoryLevel waited_for = sm::MemoryLevel::kLatency;
  };
  /// The cycle in which the transfer is complete, and what it took longest for.
  Completion complete(std::int64_t now, std::size_t port, std::size_t partition, const Transfer& transfer);

  const MemoryBytes& counters() const { return counters_; }
  MemoryActivity activity() const;

 private:
  /// DRAM writes what it had time for since the last call, and what the L2 may not keep; the cycle
  /// from which on the L2 can take `bytes` more.
  std::int64_t write_back(std::int64_t now, std::int64_t bytes);

  MemorySpec spec_;
  std::vector<base::Throughput> read_ports_, write_ports_;
  std::vector<base::Throughput> l2_;
  base::Throughput dram_;
  double dram_bytes_per_cycle_;
  /// The cycle up to which it is settled what DRAM did: where dram_ ends, or the last call of
  /// write_back(). From here to the next one it takes dirty bytes. Negative before the first
  /// transfer.
  std::int64_t dram_settled_ = -1;
  double dirty_ = 0;         ///< bytes in the L2 that DRAM still has to take
  double written_back_ = 1;  ///< share of what is written: the rest takes the place of dirty bytes
  MemoryBytes counters_;
};

}  // namespace sptc::memory
