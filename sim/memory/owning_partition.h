// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sptc::sim {

/// Addresses are spread over the partitions of the L2 in pieces of so many bytes.
inline constexpr std::uint64_t kOwnedBytes = 4096;

/// The partition, of `partitions`, that owns `address`.
inline std::size_t owning_partition(std::uint64_t address, std::size_t partitions) {
  return static_cast<std::size_t>((address / kOwnedBytes * 0x9E3779B97F4A7C15U) >> 40) % partitions;
}

}  // namespace sptc::sim
