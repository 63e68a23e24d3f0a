// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sptc::mma {

/// The PTX instructions that run on tensor cores.
enum class MmaFamily {
  kMma,      ///< mma.sync, mma.sp.sync
  kWgmma,    ///< wgmma.mma_async (sm_90a)
  kTcgen05,  ///< tcgen05.mma (sm_100a): shape and types stand in its instruction descriptor
};

/// Warps that run an asynchronous instruction together.
inline constexpr int kWarpsPerWarpgroup = 4;

/// "mma.sync", "wgmma", "tcgen05.mma".
std::string_view name(MmaFamily family);

}  // namespace sptc::mma
