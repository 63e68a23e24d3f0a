// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/base/units.h"
#include "models/mma/fragment_layout.h"
#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/memory_range.h"

#include <cstdint>
#include <span>

namespace sptc::mma {
class RegisterMap;
struct StepContext;
}  // namespace sptc::mma

namespace sptc::sm {

/// The bits of a kernel's operands and results. An SM calls it in the cycle in which data moves; a call takes no
/// simulated time.
class CtaMemory {
 public:
  virtual ~CtaMemory() = default;

  /// Fills the registers of a kLoadMatrix instruction of warp `warp` of CTA `cta` in main loop
  /// iteration `iteration`.
  virtual void load(std::int64_t cta, int warp, const isa::WarpInstruction& instruction, std::int64_t iteration,
                    mma::LaneRegister* registers) const = 0;

  /// Takes the accumulators of a kStoreAccumulator instruction.
  virtual void store(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                     const mma::LaneRegister* registers) = 0;
};

/// The addresses of a kernel: where its copies, loads and stores lie in global memory.
class CtaTraffic {
 public:
  virtual ~CtaTraffic() = default;

  /// Bytes that warp `warp` of CTA `cta` moves with a kCopy or kLoadGlobal for k-tile `tile`, the slice of A and B of
  /// one main loop iteration, or with a kStoreGlobal; none where all of it lies beyond the edge of the matrix.
  virtual MemoryRange range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                            std::int64_t tile) const = 0;
};

/// What the CTAs of a grid work on, where it is not one output tile each.
class CtaWork {
 public:
  virtual ~CtaWork() = default;
  /// The segments of CTA `cta`, at least one. They outlive the CTA.
  virtual std::span<const isa::WorkSegment> segments(std::int64_t cta) const = 0;
};

/// An observer that is told when CTAs get to use their k-tiles.
class TileObserver {
 public:
  virtual ~TileObserver() = default;
  /// Tells that one more warp of CTA `cta` has k-tile `tile` from `cycle` on, after its wait for it. The producer,
  /// which only copies k-tiles for the others, does not count. Tiles are counted over all work of the CTA.
  virtual void tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle) = 0;
};

/// A kernel as an SM sees it: one program for all warps, and the resources of a CTA.
struct KernelLaunch {
  const isa::WarpProgram* program = nullptr;
  const mma::StepContext* mma_context = nullptr;
  const mma::RegisterMap* register_map = nullptr;
  int warps_per_cta = 0;  ///< beside the producer
  int ctas_per_sm = 0;    ///< resident at once
  std::int64_t ctas = 0;
  CtaMemory* memory = nullptr;          ///< absent: instructions carry no values, only time is simulated
  const CtaTraffic* traffic = nullptr;  ///< needed by kernels that copy, load or store
  const CtaWork* work = nullptr;        ///< absent: CTA i has output tile i
  base::Bytes shared_memory{};          ///< of an SM that holds the CTAs (Occupancy::carve_out); the L1 has the rest
  TileObserver* observer = nullptr;     ///< absent: nobody wants to know
  int cta_group = 1;                    ///< SMs that run an instruction of tcgen05.mma together

  /// Most CTAs that one of `sms` SMs gets: its share, rounded up. If an SM got as many as it has room for, the first
  /// SMs would take several of the last CTAs each, and others none, wherever the CTAs of an SM end one soon behind the
  /// other: measured times speak against it.
  std::int64_t most_ctas_of_sm(std::int64_t sms) const { return base::ceil_div(ctas, sms); }
};

}  // namespace sptc::sm
