// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <string>
#include <vector>

namespace sptc::hardware {

inline constexpr int kMaxIlp = 6;

/// PTX names of the mma and mma.sp instructions that are timed.
std::vector<std::string> timed_mma();

/// SM cycles that one block of `warps` warps takes for `rounds` rounds of `ilp` independent
/// executions each; registers as in `operands`, which holds one case. Throws std::runtime_error.
long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds);

/// wgmma at n = 64, 128 and 256, A and B in shared memory (sm_90a).
struct TimedWgmma {
  std::string ptx;
  int n = 0;
  int macs_per_row_and_column = 0;  ///< logical k
  bool sparse = false;
};
std::vector<TimedWgmma> timed_wgmma();

/// The same for wgmma number `index` of timed_wgmma(): `warpgroups` of four warps. With `random`
/// the tiles hold random bits of moderate exponents, else zeros.
long long wgmma_cycles(std::size_t index, int warpgroups, int rounds, bool random);

}  // namespace sptc::hardware
