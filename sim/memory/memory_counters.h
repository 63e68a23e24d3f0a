// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::sim {

/// Bytes that moved.
struct MemoryCounters {
  std::int64_t l2_read_bytes = 0;  ///< requested by SMs
  std::int64_t l2_write_bytes = 0;
  std::int64_t dram_read_bytes = 0;
  std::int64_t dram_write_bytes = 0;
};

}  // namespace sptc::sim
