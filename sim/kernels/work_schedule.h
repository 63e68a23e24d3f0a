// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/kernel_launch.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/gemm_traffic.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sptc::kernels {

/// What each CTA of a kernel works on that does not launch one CTA per output tile, or that cuts K
/// into slices of which the last one is shorter.
///
/// One output tile each: CTA i has tile i, its slice of K.
///
/// Persistent: as many CTAs as fit on the GPU at once; CTA i has the output tiles i, i + CTAs, ...
///
/// Stream-K (Osama et al., arXiv 2301.03598; CUTLASS's ThreadblockSwizzleStreamK): as many CTAs as
/// fit. The output tiles beyond the last full round, with those of one full round where there is
/// one, are laid end to end along K and cut into as many equal stretches, one for each CTA; the
/// other rounds follow tile by tile. As in the paper, the CTA that has the beginning of a tile adds
/// the partial sums of the others and writes D. CUTLASS is the mirror image: its CTAs walk their
/// stretches from the end, and the one that has the end of a tile writes D.
class WorkSchedule : public sm::CtaWork {
 public:
  /// How deep slices of K are.
  enum class Slices {
    kAlike,  ///< as the deepest, in a grid that is carried on along straight lines
    kWhole   ///< the last one as deep as what is left
  };

  /// Schedules the first `output_tiles` tiles of `kernel`, `k_tiles` deep.
  WorkSchedule(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles, std::int64_t sms,
               Slices slices = Slices::kAlike);

  /// Most stretches of `tiles` output tiles, `k_tiles` deep, laid end to end, that are worth a CTA.
  static std::int64_t most_stretches(std::int64_t tiles, std::int64_t k_tiles);
  /// Bytes of the partial sums that the CTAs of a launch store, and read again: those of a CTA
  /// whose stretch begins within an output tile. None where `kernel` is not stream-K.
  static std::int64_t partial_sum_bytes(const GemmKernel& kernel, std::int64_t sms);

  /// CTAs of that schedule.
  static std::int64_t ctas_launched(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles,
                                    std::int64_t sms);

  std::int64_t ctas() const { return static_cast<std::int64_t>(work_.size()); }
  std::span<const isa::WorkSegment> segments(std::int64_t cta) const override {
    return work_[static_cast<std::size_t>(cta)];
  }

 private:
  /// Output tiles of a stream-K launch that are laid end to end, and into how many stretches those
  /// are cut.
  struct Stream {
    std::int64_t tiles, stretches;
  };
  static Stream stream_of(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles, std::int64_t sms);

  void add_stream(std::int64_t tiles, std::int64_t k_tiles);
  void count_peers();

  std::vector<std::vector<isa::WorkSegment>> work_;  ///< per CTA
};

/// Where the copies and stores of scheduled CTAs lie.
class ScheduledTraffic : public sm::CtaTraffic {
 public:
  ScheduledTraffic(const GemmTraffic& traffic, const WorkSchedule& schedule) : traffic_(traffic), schedule_(schedule) {}

  sm::MemoryRange range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                        std::int64_t tile) const override;

 private:
  struct Place {
    const isa::WorkSegment& segment;
    std::int64_t k_tile;  ///< of the output tile
  };
  Place find(std::int64_t cta, std::int64_t tile) const;

  const GemmTraffic& traffic_;
  const WorkSchedule& schedule_;
};

}  // namespace sptc::kernels
