// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sptc::sim {

/// Addresses are spread over the partitions of the L2 in pieces of so many bytes.
inline constexpr std::uint64_t kOwnedBytes = 4096;

/// The partition, of `partitions`, that owns `address`.
inline std::size_t owning_partition(std::uint64_t address, std::size_t partitions) {
  // Of 24 bits, which divide faster than 64.
  const auto scattered =
      static_cast<std::uint32_t>((address / kOwnedBytes * 0x9E3779B97F4A7C15U) >> 40);
  return scattered % static_cast<std::uint32_t>(partitions);
}

/// The partition, of `partitions`, that SM `sm` asks: the sum of the digits of its number. Which
/// SMs sit where is not published, and CTAs go to the GPCs in turn. Of SMs beside each other each
/// asks another one, so that a small grid loads all, and in longer rows nothing repeats: full and
/// partial tiles that alternate do not fall to one partition each.
constexpr int partition_of_sm(int sm, int partitions) {
  if (partitions == 1) {
    return 0;
  }
  int digits = 0;
  for (; sm > 0; sm /= partitions) {
    digits += sm % partitions;
  }
  return digits % partitions;
}

}  // namespace sptc::sim
