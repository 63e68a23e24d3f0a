// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::memory {

/// Bytes that L2 and DRAM moved.
struct MemoryBytes {
  std::int64_t l2_read = 0;  ///< once where the L2 reads for several SMs of a cluster
  std::int64_t l2_written = 0;
  std::int64_t dram_read = 0;
  std::int64_t dram_written = 0;

  std::int64_t l2() const { return l2_read + l2_written; }
  std::int64_t dram() const { return dram_read + dram_written; }
  /// Share of the bytes that the L2 read that DRAM did not deliver.
  double l2_hit_ratio() const {
    return l2_read == 0 ? 1 : 1 - static_cast<double>(dram_read) / static_cast<double>(l2_read);
  }

  MemoryBytes& operator+=(const MemoryBytes& other) {
    l2_read += other.l2_read;
    l2_written += other.l2_written;
    dram_read += other.dram_read;
    dram_written += other.dram_written;
    return *this;
  }
};

/// What L2 and DRAM have moved, and the cycles until which they are busy with what was asked for.
struct MemoryActivity {
  MemoryBytes bytes;
  std::int64_t l2_until = 0;    ///< of its partitions the longest
  std::int64_t dram_until = 0;  ///< what DRAM writes while nobody asks is left out
};

}  // namespace sptc::memory
