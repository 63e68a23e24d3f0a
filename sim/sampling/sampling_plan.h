// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_target.h"
#include "sim/sampling/simulated_sms.h"

#include <cstdint>
#include <vector>

namespace sptc::sampling {

// How a launch is simulated that is too large to be simulated cycle by cycle:
//  - Which SMs are simulated: all, or two to eight of those that have CTAs (SamplingPlan).
//  - What stands for the SMs that are left out: ratios. Each request of a simulated SM counts for
//    those of the SMs like it. Whether it comes from the L2 or from DRAM follows from what the
//    waves before have left there (GridReuse, SampledShare, MemoryShare). SMs are out of step, and
//    the last one ends behind or before the simulated ones (simulated_to_last_end).
//  - What is extrapolated, in both cases: k-tiles in the middle of a main loop and rounds of CTAs
//    in the middle of a grid, each as long as those that were simulated (extrapolate_cycles), whose
//    times TileTimes notes. The L2 of all SMs is smaller for the shorter grid, so that as much of
//    it survives there as of the whole one (GridReuse::l2_share_of).

/// Which SMs are simulated for a launch, and whether its grid is shortened.
class SamplingPlan {
 public:
  /// `kernel` must outlive the plan. `extrapolate`: grids may be shortened.
  SamplingPlan(const kernels::GemmKernel& kernel, const kernels::KernelTarget& gpu,
               SimulatedSms simulated, bool extrapolate);

  /// Of a GPU with `sms` SMs.
  static int sms_built(std::int64_t sms, SimulatedSms simulated);

  /// Whether all CTAs and k-tiles of the grid are simulated.
  bool whole() const;

  /// CTAs that the GPU holds.
  std::int64_t resident() const { return sms_of_gpu_ * kernel_.ctas_per_sm; }

  /// Of stream-K: whether CTAs have parts of output tiles.
  bool shares_tiles() const { return kernel_.stream_k() && kernel_.ctas() % resident() != 0; }

  /// The SMs that are simulated instead of all: the first one, which has as many CTAs as any, and
  /// others at equal distances, which ask the partitions of the L2 in turn. Where CTAs share output
  /// tiles, the first one, which only hands on partial sums, is none of them.
  const std::vector<int>& sms() const { return sms_; }

  /// SMs that are simulated at all: where all are built, those that have a CTA.
  std::int64_t simulated_sms() const {
    return simulated_ == SimulatedSms::kSampled ? static_cast<std::int64_t>(sms_.size())
                                                : sms_with_ctas();
  }

 private:
  std::int64_t sms_with_ctas() const;
  int sample_size() const;
  std::vector<int> choose_sms() const;

  const kernels::GemmKernel& kernel_;
  std::int64_t sms_of_gpu_;
  int partitions_;  ///< of the L2
  SimulatedSms simulated_;
  bool extrapolate_;
  std::vector<int> sms_;
};

}  // namespace sptc::sampling
