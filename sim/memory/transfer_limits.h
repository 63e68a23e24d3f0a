// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"
#include "sim/memory/memory_bytes.h"
#include "sim/memory/memory_spec.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::sim {

/// What a transaction moves over each part of the memory system.
struct Transfer {
  bool write = false;
  std::int64_t bytes = 0;      ///< over the SM's port and its partition of the L2
  int readers = 1;             ///< SMs for which the L2 reads them once: see MemoryRange
  std::int64_t far_bytes = 0;  ///< of the bytes, also over the other partition
  std::int64_t dram_bytes = 0;
  std::int64_t latency = 0;  ///< of an idle system
  // Where it stands for several SMs: cycles by which the first of them is ahead, at L2 and DRAM.
  std::int64_t l2_ahead = 0;
  std::int64_t dram_ahead = 0;
};

/// The bandwidth limits of the memory system: a port per SM, the partitions of the L2, DRAM. Every
/// transaction queues at each of them from the moment it arrives and ends when the slowest has
/// passed its last byte, a latency later.
class TransferLimits {
 public:
  TransferLimits(const MemorySpec& spec, double clock_mhz, int ports);

  /// DRAM at another SM clock, from an idle system on.
  void reset(double clock_mhz);

  struct Completion {
    std::int64_t cycle = 0;
    std::int64_t queued = 0;  ///< cycles that the L2 took longer than the port of the SM
  };
  /// When the transfer is complete. `repeat`: so many SMs move the same at the same
  /// time, each over a port of its own.
  Completion complete(std::int64_t now, std::size_t port, std::size_t partition,
                      const Transfer& transfer, double repeat = 1);

  std::size_t partitions() const { return l2_.size(); }
  /// Since the last reset.
  const MemoryBytes& counters() const { return counters_; }

 private:
  /// DRAM writes what the L2 may not keep; the cycle from which on the L2 can take `bytes` more, of
  /// which the first came `ahead` cycles ago.
  std::int64_t write_back(std::int64_t now, std::int64_t bytes, std::int64_t ahead);

  const MemorySpec spec_;
  std::vector<Throughput> read_ports_, write_ports_;
  std::vector<Throughput> l2_;
  Throughput dram_;       ///< as transfers wait for it, which may be ahead
  Throughput dram_work_;  ///< what it has been asked for, none of it ahead
  double dram_bytes_per_cycle_;
  std::int64_t dram_end_ = 0;  ///< cycle in which DRAM has done what was asked for
  double dirty_ = 0;           ///< bytes in the L2 that DRAM still has to take
  MemoryBytes counters_;
};

}  // namespace sptc::sim
