// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sptc::memory {

/// Bytes of the pieces in which addresses are spread over the partitions of the L2.
inline constexpr std::uint64_t kOwnedBytes = 4096;

/// The partition, of one or two, that owns `address`.
inline std::size_t owning_partition(std::uint64_t address, std::size_t partitions) {
  const std::uint64_t scattered = (address / kOwnedBytes * 0x9E3779B97F4A7C15U) >> 40;
  return scattered & (partitions - 1);
}

/// The partition, of one or two, that SM `sm` asks: whether the binary digits of its number have an
/// odd sum. Which SMs sit where is not published; this order lets a small grid load both partitions
/// and repeats nothing.
constexpr int partition_of_sm(int sm, int partitions) {
  return std::popcount(static_cast<unsigned>(sm)) & (partitions - 1);
}

}  // namespace sptc::memory
