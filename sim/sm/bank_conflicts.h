// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace sptc::sim {

/// Wavefronts that a load of `bytes_per_lane` bytes at each of `addresses` [bytes] takes from a
/// memory of `banks` banks of `bank_bytes` bytes. Lanes are served in groups that together fill one
/// access to all banks (32 lanes of 4 bytes, 8 lanes of 16 bytes); a group takes as many wavefronts
/// as different words meet in the most used bank. Lanes that read the same word share it.
/// Source: CUDA C++ Programming Guide, shared memory of compute capability 5.x and later.
inline int wavefronts(std::span<const std::uint32_t> addresses, int bytes_per_lane, int banks,
                      int bank_bytes) {
  ensure(bytes_per_lane > 0 && banks > 0 && bank_bytes > 0, "wavefronts: sizes must be positive");
  const auto lanes_per_group = static_cast<std::size_t>(
      std::max(1, banks * bank_bytes / std::max(bytes_per_lane, bank_bytes)));
  int total = 0;
  for (std::size_t first = 0; first < addresses.size(); first += lanes_per_group) {
    const std::size_t end = std::min(first + lanes_per_group, addresses.size());
    std::vector<std::set<std::uint32_t>> words(static_cast<std::size_t>(banks));
    for (std::size_t lane = first; lane < end; ++lane) {
      const std::uint32_t last = addresses[lane] + static_cast<std::uint32_t>(bytes_per_lane) - 1;
      for (std::uint32_t word = addresses[lane] / static_cast<std::uint32_t>(bank_bytes);
           word <= last / static_cast<std::uint32_t>(bank_bytes); ++word) {
        words[word % static_cast<std::uint32_t>(banks)].insert(word);
      }
    }
    std::size_t most = 1;
    for (const std::set<std::uint32_t>& bank : words) {
      most = std::max(most, bank.size());
    }
    total += static_cast<int>(most);
  }
  return total;
}

/// Byte address of the 16-byte chunk `chunk` of row `row` of a tile with `row_chunks` chunks per
/// row (a power of two, at most 8), permuted as CUTLASS's shared-memory layouts do
/// (TensorOpMultiplicand: chunk index XOR row), so that ldmatrix meets no bank twice.
inline std::uint32_t swizzled_address(std::uint32_t row, std::uint32_t chunk,
                                      std::uint32_t row_chunks) {
  constexpr std::uint32_t kChunkBytes = 16;
  constexpr std::uint32_t kChunksPerLine = 8;  // 128 bytes: once around the banks
  const std::uint32_t line = (row * row_chunks + chunk) / kChunksPerLine;
  const std::uint32_t in_line = (row * row_chunks + chunk) % kChunksPerLine;
  return (line * kChunksPerLine + (in_line ^ (line % kChunksPerLine))) * kChunkBytes;
}

}  // namespace sptc::sim
