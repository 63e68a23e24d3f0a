// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::sim {

/// Bytes that moved, and cycles of work of the limiters.
struct MemoryCounters {
  std::int64_t l2_read_bytes = 0;  ///< requested by SMs
  std::int64_t l2_write_bytes = 0;
  std::int64_t l2_far_bytes = 0;  ///< of the reads, served by the other partition
  std::int64_t dram_read_bytes = 0;
  std::int64_t dram_write_bytes = 0;
  double port_busy_cycles = 0;  ///< of the busiest SM port
  double l2_busy_cycles = 0;    ///< of the busiest partition
  double dram_busy_cycles = 0;
};

}  // namespace sptc::sim
