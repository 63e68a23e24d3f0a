// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"

namespace sptc::memory {

/// Interconnect, L2 and DRAM of a GPU. Rates of the SM clock are bytes per cycle, those of
/// the DRAM bytes per second: they do not follow the SM clock.
struct MemorySpec {
  double sm_port_bytes_per_cycle = 0;  ///< from the L2 into one SM, and back

  int l2_partitions = 0;           ///< 2: each serves half of the SMs and caches what the other one owns
  base::Bytes l2_capacity;         ///< of all partitions
  double l2_bytes_per_cycle = 0;   ///< of all partitions
  int l2_near_latency_cycles = 0;  ///< load to use, hit in the SM's own partition
  int l2_far_latency_cycles = 0;   ///< hit in the other one

  base::Bytes dram_capacity;           ///< 0: not known
  double dram_gb_per_s = 0;            ///< 1e9 bytes per second, of the pins
  double dram_efficiency_percent = 0;  ///< what row misses and turnarounds leave of them
  double dram_refresh_ns = 0;          ///< for which a bank is blocked in each interval
  double dram_refresh_interval_ns = 0;
  int dram_access_latency_cycles = 0;  ///< behind the L2 that missed, at the boost clock

  /// Load to use of an L2 miss, mean over the partitions.
  int dram_latency_cycles() const {
    const int way = l2_partitions > 1 ? (l2_near_latency_cycles + l2_far_latency_cycles) / 2 : l2_near_latency_cycles;
    return way + dram_access_latency_cycles;
  }

  /// Bytes per cycle of a clock of `mhz` that DRAM delivers. Refresh is staggered over the
  /// channels, so the device as a whole loses its share of time and never stands still.
  double dram_bytes_per_cycle(double mhz) const {
    return dram_gb_per_s * 1e3 / mhz * dram_efficiency_percent / 100 * (1 - dram_refresh_ns / dram_refresh_interval_ns);
  }

  /// A write of D takes as much of a partition of the L2 as so many reads of its size, of both
  /// where there are two.
  static constexpr std::int64_t kL2WorkOfWrite = 2;

  /// What may wait in the L2 to be written to DRAM. The share is assumed; nobody published it.
  double dirty_bytes() const {
    constexpr double kDirtyShare = 0.25;
    return kDirtyShare * static_cast<double>(l2_capacity.count());
  }

  bool operator==(const MemorySpec&) const = default;
};

}  // namespace sptc::memory
