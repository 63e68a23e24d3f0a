// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/fragment_layout.h"
#include "models/mma/stage_data.h"
#include "sim/base/payload.h"
#include "sim/hardware/sm/kernel_launch.h"
#include "sim/hardware/sm/memory_range.h"

#include <array>
#include <cstdint>

namespace sptc::sm {

/// A warp as the messages of an SM name it.
struct WarpName {
  int cta_slot = 0;
  int warp = 0;  ///< index within the CTA
};

/// CTA scheduler of the GPU -> SM.
struct CtaLaunch {
  const KernelLaunch* kernel = nullptr;
  std::int64_t cta = 0;
};

/// SM -> CTA scheduler of the GPU.
struct CtaDone {
  std::int64_t cta = 0;
};

/// CTA unit -> sub-partition.
struct WarpCommand {
  enum class Kind {
    kLaunch,
    kReleaseBarrier,
    kTilesArrived,  ///< the first `tiles` k-tiles of the producer
    kTilesFreed,    ///< the first `tiles` k-tiles, by all warps that read them
  };
  Kind kind = Kind::kLaunch;
  WarpName warp;                                   ///< all warps of the CTA slot, except kLaunch
  CtaLaunch launch;                                ///< kLaunch only
  std::int64_t tiles = 0;                          ///< since the start of the CTA
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< kTilesArrived only
};

/// Sub-partition -> CTA unit.
struct WarpReport {
  enum class Kind {
    kArrivedAtBarrier,
    kExited,
    kTilesArrived,  ///< of the producer: its first `tiles` k-tiles
    kTilesFreed,    ///< the warp has read the first `tiles` k-tiles
  };
  Kind kind = Kind::kArrivedAtBarrier;
  WarpName warp;
  std::int64_t tiles = 0;
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< kTilesArrived only
};

/// Sub-partition -> shared memory: kLoadMatrix or kStoreShared.
struct LoadRequest {
  const KernelLaunch* kernel = nullptr;
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  std::int64_t iteration = 0;
  std::int64_t arrival_cycle = 0;
  int warp = 0;
  int warp_slot = 0;
  bool elided = false;  ///< carries no values: may be answered before the data are there
};

/// Sub-partition -> warpgroup unit: a warp's quarter of a wgmma.
struct WgmmaRequest {
  const KernelLaunch* kernel = nullptr;
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  int warp = 0;
  int warp_slot = 0;
};

/// Warpgroup unit -> sub-partition: the oldest wgmma of the warp has written its accumulators.
struct WgmmaDone {
  int warp_slot = 0;
};

/// Registers of the widest load: ldmatrix.x4 has 4, the deepest B that carries values fills 32.
using LoadedRegisters = std::array<mma::LaneRegister, mma::kMaxBWords * mma::kCols / mma::kWarpLanes>;

/// Shared memory -> sub-partition. The answer to an elided request may come before the data.
struct LoadDone {
  LoadRequest request;
  std::int64_t ready_cycle = 0;  ///< from which on the registers may be used again
  base::Payload<LoadedRegisters> payload;
};

/// Sub-partition -> asynchronous copy unit.
struct CopyRequest {
  const KernelLaunch* kernel = nullptr;
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  std::int64_t tile = 0;  ///< k-tile that is copied
  int warp = 0;
  int warp_slot = 0;
  int group = 0;  ///< of the warp's copies; not of loads and stores
};

/// Asynchronous copy unit -> sub-partition: the bytes are in shared memory, or in registers.
struct CopyDone {
  int warp_slot = 0;
  int group = 0;
  const isa::WarpInstruction* load = nullptr;  ///< that wrote registers; absent: a copy
  MemoryLevel waited_for = MemoryLevel::kLatency;
};

}  // namespace sptc::sm
