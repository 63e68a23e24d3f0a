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

// Messages between the blocks of an SM: of "A -> B", A sends and B takes.

/// A warp as the messages name it.
struct WarpName {
  int cta_slot = 0;  ///< place of its CTA on the SM
  int warp = 0;      ///< index within the CTA
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

/// CTA unit -> sub-partition. Tiles are the k-tiles that a CTA's producer, a warp that only copies, has for its other
/// warps.
struct WarpCommand {
  enum class Kind {
    kLaunch,
    kReleaseBarrier,
    kTilesArrived,  ///< to the others: the first `tiles` k-tiles are in shared memory
    kTilesFreed,    ///< to the producer: all others have read the first `tiles` k-tiles
  };
  Kind kind = Kind::kLaunch;
  WarpName warp;                                   ///< the one to launch; else any of its CTA slot, for all of them
  CtaLaunch launch;                                ///< kLaunch only
  std::int64_t tiles = 0;                          ///< since the start of the CTA
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< kTilesArrived only
};

/// Sub-partition -> CTA unit.
struct WarpReport {
  enum class Kind {
    kArrivedAtBarrier,
    kExited,
    kTilesArrived,  ///< of the producer: its first `tiles` k-tiles are in shared memory
    kTilesFreed,    ///< the warp has read the first `tiles` k-tiles
  };
  Kind kind = Kind::kArrivedAtBarrier;
  WarpName warp;
  std::int64_t tiles = 0;                          ///< since the start of the CTA
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< kTilesArrived only
};

/// An instruction of a warp for another block. To the warpgroup unit it is a warp's quarter of a wgmma.
struct WarpRequest {
  const KernelLaunch* kernel = nullptr;
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  int warp = 0;
  int warp_slot = 0;
};
using WgmmaRequest = WarpRequest;

/// Sub-partition -> shared memory: a kLoadMatrix or kStoreShared.
struct LoadRequest : WarpRequest {
  std::int64_t iteration = 0;      ///< of the main loop
  std::int64_t arrival_cycle = 0;  ///< in which it reaches shared memory, which may look at it later
  bool elided = false;  ///< that of its warp (ResidentWarp): it carries no values, so the answer may come early
};

/// Warpgroup unit -> sub-partition: the oldest wgmma of the warp has written its accumulators.
struct WgmmaDone {
  int warp_slot = 0;
};

/// Registers of the widest load: ldmatrix.x4 fills 4, the deepest B that carries values 32.
using LoadedRegisters = std::array<mma::LaneRegister, mma::kMaxBWords * mma::kCols / mma::kWarpLanes>;

/// Shared memory -> sub-partition. The answer to an elided request may come before `ready_cycle`.
struct LoadDone {
  LoadRequest request;
  std::int64_t ready_cycle = 0;  ///< first one in which the registers may be used
  base::Payload<LoadedRegisters> payload;
};

/// Sub-partition -> asynchronous copy unit: a copy into shared memory, a load into registers or a store.
struct CopyRequest : WarpRequest {
  std::int64_t tile = 0;  ///< k-tile that it copies or loads
  int group = 0;          ///< group of the warp's copies (AsyncGroups); unused by loads and stores
};

/// Asynchronous copy unit -> sub-partition: the bytes are in shared memory, or in registers. Stores have no answer.
struct CopyDone {
  int warp_slot = 0;
  int group = 0;
  const isa::WarpInstruction* load = nullptr;      ///< that wrote registers; absent: a copy
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< what took longest
};

}  // namespace sptc::sm
