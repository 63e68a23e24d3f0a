// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/wgmma_tile.h"  // SPTC_HOST_DEVICE

// Chains of dependent loads from shared memory: what a lane loads is the address of its next load,
// which is the same one. Used by the kernels, and tested on the host.

namespace sptc::hardware {

/// One chain of ldmatrix with 1, 2 or 4 matrices over as many times 128 bytes. Rows of 16 bytes
/// follow each other, so no phase has a bank conflict.
struct LdmatrixChain {
  static constexpr int kBytes = 512;  ///< from one chain to the next

  int matrices;

  /// Byte at which the row lies whose address `lane` gives.
  SPTC_HOST_DEVICE constexpr int row_offset(int lane) const { return lane % (8 * matrices) * 16; }
  /// 32-bit word that `lane` gets in its last register: of the last matrix the row lane / 4, the
  /// elements 2 (lane % 4) and the next.
  SPTC_HOST_DEVICE constexpr int loaded_word(int lane) const { return 32 * (matrices - 1) + lane; }
};

/// Word that `lane` reads so that `ways` lanes (a power of two up to 32) meet in every bank that is
/// used, each at a word of its own.
SPTC_HOST_DEVICE constexpr int conflicting_word(int lane, int ways) {
  return 32 * (lane % ways) + lane / ways;
}

}  // namespace sptc::hardware
