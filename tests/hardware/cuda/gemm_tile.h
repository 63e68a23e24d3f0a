// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/wgmma_tile.h"

// Shape of the own GEMM kernels, and where everything stands in shared memory: used by the kernels,
// and tested on the host. Operands are bytes: a row of A and a column of B run along K, so one
// layout serves 16- and 8-bit types.

namespace sptc::hardware {

/// A tile of rows of 64 or 128 bytes in shared memory. The 16-byte chunk of a row is exchanged by
/// an exclusive or with the row, so that the eight rows that one phase of ldmatrix reads at the
/// same chunk, and the eight chunks that neighbouring lanes write, lie in different banks.
struct SwizzledTile {
  int row_bytes;  ///< 64 or 128

  SPTC_HOST_DEVICE constexpr int chunks() const { return row_bytes / 16; }
  /// Byte offset of chunk `chunk` of row `row`.
  SPTC_HOST_DEVICE constexpr int offset(int row, int chunk) const {
    return row * row_bytes + swizzled_chunk(row_bytes, row, chunk) * 16;
  }
};

/// One CTA computes kTileM x kTileN of D with four warps, each kWarpM x kWarpN, over stages of two
/// instructions along K.
template <bool kSparse>
struct GemmTile {
  static constexpr int kTileM = 128, kTileN = 128;
  static constexpr int kWarpM = 64, kWarpN = 64;
  static constexpr int kWarps = 4, kThreads = 128;
  static constexpr int kWarpsAlongN = kTileN / kWarpN;
  static constexpr int kStepsPerStage = 2;
  static constexpr int kStages = kSparse ? 3 : 4;
  /// Bytes of a row of A and of a column of B that one instruction reads.
  static constexpr int kStepBytesOfA = 32, kStepBytesOfB = kSparse ? 64 : 32;
  static constexpr SwizzledTile kA{kStepsPerStage * kStepBytesOfA};
  static constexpr SwizzledTile kB{kStepsPerStage * kStepBytesOfB};
  /// Metadata: the register of every lane for each 16 rows and instruction.
  static constexpr int kMetadataBytes = kSparse ? kTileM / 16 * kStepsPerStage * 128 : 0;
  static constexpr int kBytesOfA = kTileM * kA.row_bytes;
  static constexpr int kBytesOfB = kTileN * kB.row_bytes;
  static constexpr int kStageBytes = kBytesOfA + kBytesOfB + kMetadataBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};

/// The same with one warpgroup, whose wgmma work on one stage more: their place is free later.
template <bool kSparse>
struct WgmmaGemmTile : GemmTile<kSparse> {
  static constexpr int kStages = kSparse ? 4 : 6;
  static constexpr int kSharedBytes = kStages * GemmTile<kSparse>::kStageBytes;
  /// Rows of a wgmma, and how many of them make the tile.
  static constexpr int kRows = kWgmmaRows;
  static constexpr int kParts = GemmTile<kSparse>::kTileM / kRows;
};

/// Row and 16-byte chunk that lane `lane` gives to ldmatrix.x4 for a 16 x 32-byte fragment of A:
/// matrices 0 and 1 are the rows 0-7 and 8-15 of the first 16 bytes, 2 and 3 of the second.
struct LdmatrixPlace {
  int row, chunk;
};
SPTC_HOST_DEVICE constexpr LdmatrixPlace ldmatrix_a(int lane) {
  return {lane % 16, lane / 16};
}
/// B, dense: two fragments of 8 columns x 32 bytes: matrices 0 and 1 are the 16-byte halves of
/// columns 0-7, 2 and 3 of columns 8-15.
SPTC_HOST_DEVICE constexpr LdmatrixPlace ldmatrix_b_dense(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2};
}
/// B, sparse: one fragment of 8 columns x 64 bytes.
SPTC_HOST_DEVICE constexpr LdmatrixPlace ldmatrix_b_sparse(int lane) {
  return {lane % 8, lane / 8};
}

}  // namespace sptc::hardware
