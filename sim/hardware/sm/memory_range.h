// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::sm {

/// Bytes of global memory, consecutive.
struct MemoryRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  /// CTAs that the L2 reads it for at once: TMA multicast, each CTA of a cluster asks for its part
  /// and all of them get it.
  int readers = 1;
  std::int64_t beyond = 0;  ///< elements that TMA fills: of its box, but beyond the edge
};

/// What takes longest of a transaction: the way through an idle memory, or until one of its parts
/// has moved the last byte.
enum class MemoryLevel : std::uint8_t { kLatency, kSmPort, kL2, kDram };

}  // namespace sptc::sm
