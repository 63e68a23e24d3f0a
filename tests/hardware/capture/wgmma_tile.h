// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Tiles of wgmma operands in shared memory, shared by host and device code: where a byte of the
// tile stands, and the descriptor that tells the instruction. Source: PTX ISA, "Asynchronous
// warpgroup-level matrix shared memory layout" and "matrix descriptor".

#ifdef __CUDACC__
#define SPTC_HOST_DEVICE __host__ __device__
#else
#define SPTC_HOST_DEVICE
#endif

namespace sptc::hardware {

/// Where the 16-byte chunk `chunk` of row `row` stands in its row of 64 or 128 bytes: exchanged by
/// an exclusive or with bits of the row, as the 64- and 128-byte swizzles of wgmma do.
SPTC_HOST_DEVICE constexpr int swizzled_chunk(int row_bytes, int row, int chunk) {
  return chunk ^ (row_bytes == 128 ? row & 7 : (row >> 1) & 3);
}

/// K-major tile of `rows` rows (of A, or columns of B) with `row_bytes` bytes along K. Rows of 32
/// bytes: no swizzle, core matrices of 8 rows x 16 bytes, the two along K next to each other. Rows
/// of 64 and 128 bytes: the swizzle of that width.
struct WgmmaTile {
  int rows;
  int row_bytes;

  SPTC_HOST_DEVICE constexpr int bytes() const { return rows * row_bytes; }
  SPTC_HOST_DEVICE constexpr bool swizzled() const { return row_bytes >= 64; }

  /// Offset in the tile of byte `at` of row `row`.
  SPTC_HOST_DEVICE constexpr int offset(int row, int at) const {
    const int chunk = at / 16;
    const int in_chunk = at % 16;
    if (swizzled()) {
      return row * row_bytes + swizzled_chunk(row_bytes, row, chunk) * 16 + in_chunk;
    }
    return (row / 8) * stride_bytes() + chunk * kLeadingBytes + (row % 8) * 16 + in_chunk;
  }

  /// From one group of eight rows to the next.
  SPTC_HOST_DEVICE constexpr int stride_bytes() const { return 8 * row_bytes; }

  /// Descriptor of a tile at shared-memory address `address`, a multiple of 1024; of a swizzled
  /// tile also of the part that begins a few chunks into its rows, at that chunk's address.
  SPTC_HOST_DEVICE constexpr std::uint64_t descriptor(std::uint32_t address) const {
    const std::uint64_t swizzle = !swizzled() ? 0 : row_bytes == 128 ? 1 : 2;
    return encode(address) | encode(kLeadingBytes) << 16 | encode(static_cast<std::uint32_t>(stride_bytes())) << 32 |
           swizzle << 62;
  }

 private:
  static constexpr int kLeadingBytes = 128;  ///< from one core matrix to the next along K

  SPTC_HOST_DEVICE static constexpr std::uint64_t encode(std::uint32_t bytes) { return (bytes & 0x3FFFFU) >> 4; }
};

inline constexpr int kWgmmaRows = 64;
inline constexpr int kWgmmaColumns = 8;
inline constexpr int kWgmmaLanes = 128;
inline constexpr int kWgmmaBytesOfA = 32;  ///< per row, as stored

}  // namespace sptc::hardware
