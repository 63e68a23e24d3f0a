// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::sm {

/// Consecutive bytes of global memory.
struct MemoryRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  /// CTAs that the L2 reads it for at once: with TMA multicast each CTA of a cluster asks for its part, and all of them
  /// get it.
  int readers = 1;
  std::int64_t beyond = 0;  ///< elements of TMA's box that lie beyond the edge of the matrix: it fills them
};

/// What takes longest of a transaction: the way through an idle memory, or the time until one of its parts has moved
/// the last byte.
enum class MemoryLevel : std::uint8_t { kLatency, kSmPort, kL2, kDram };

}  // namespace sptc::sm
