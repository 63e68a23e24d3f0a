// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::memory {

/// What launches before have left in the L2 for a grid.
struct L2Contents {
  double resident_a = 0;   ///< share of A, with its metadata,
  double resident_b = 0;   ///< and of B
  double resident_d = 0;   ///< share of D that is written where it was: DRAM has not taken it
  double dirty_bytes = 0;  ///< of the rest of D: DRAM has yet to take them
  double share = 1;        ///< of its capacity that the L2 keeps: see GridReuse::l2_share_of
};

}  // namespace sptc::memory
