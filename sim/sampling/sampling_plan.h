// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_target.h"
#include "sim/sampling/simulated_sms.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

// How a launch is sampled, and who does what in this folder:
//  - Which SMs are simulated: two to eight of those that have CTAs, at equal distances, which ask
//    the partitions of the L2 equally often; more where each has little to do (SamplingPlan).
//  - What stands for the other SMs where that is not too much work: followers. Each repeats in its
//    own CTAs, at its own addresses, what a simulated SM, its leader, does (LeaderLog), so that the
//    L2 and DRAM of the model see the requests of all SMs (Followers). What no leader has shown,
//    nobody can repeat: then the grid is simulated once more, without followers (Gpu::run).
//  - What stands for them elsewhere: ratios. Each request of a simulated SM counts for those of the
//    SMs like it, and whether it comes from the L2 or from DRAM follows from what the waves before
//    have left there (GridReuse, SampledShare, MemoryShare). SMs are out of step, and the last one
//    ends behind or before the simulated ones (simulated_to_last_end).
//  - What is extrapolated, in both cases: k-tiles in the middle of a main loop and rounds of CTAs
//    in the middle of a grid, each as long as those that were simulated (extrapolate_cycles), whose
//    times TileTimes notes. The L2 that followers ask is smaller for the shorter grid, so that as
//    much of it survives there as of the whole one (GridReuse::l2_share_of).

/// Which SMs are simulated for a launch, how the others come in, and whether its grid is shortened.
/// A sampled launch takes some ten milliseconds of the host whatever its size, at most about fifty;
/// stream-K, which no library picks by itself, up to seventy.
class SamplingPlan {
 public:
  /// `kernel` must outlive the plan. `extrapolate`: grids may be shortened.
  SamplingPlan(const GemmKernel& kernel, const KernelTarget& gpu, SimulatedSms simulated,
               bool extrapolate);

  /// Of a GPU with `sms` SMs.
  static int sms_built(std::int64_t sms, SimulatedSms simulated);

  /// Whether the other SMs follow those that are simulated (Followers).
  bool followed() const;

  /// Whether all CTAs and k-tiles of the grid are simulated.
  bool whole() const;

  /// CTAs that the GPU holds.
  std::int64_t resident() const { return sms_of_gpu_ * kernel_.ctas_per_sm; }

  /// Of stream-K: whether CTAs have parts of output tiles.
  bool shares_tiles() const { return kernel_.stream_k() && kernel_.ctas() % resident() != 0; }

  /// The SMs that are simulated instead of all: the first one, which has as many CTAs as any, and
  /// others at equal distances, which ask the partitions of the L2 in turn. Where CTAs share output
  /// tiles and nobody follows, the first one, which only hands on partial sums, is none of them;
  /// where SMs follow, one may be there that shows them soon what they do.
  const std::vector<int>& sms() const { return sms_; }

  /// The SMs of each simulation: one of those of sms(), or of all that have a CTA in turn.
  std::vector<std::vector<int>> turns() const;

  /// SMs that are simulated at all: where all are built, those that have a CTA.
  std::int64_t simulated_sms() const {
    return simulated_ == SimulatedSms::kSampled ? static_cast<std::int64_t>(sms_.size())
                                                : sms_with_ctas();
  }

 private:
  /// What stands for the SMs and the cycles that are left out of a launch; choose_sampling() picks.
  enum class Sampling {
    kNoSmLeftOut,         ///< all SMs are simulated, together or in turn
    kFollowedAtOnce,      ///< the others follow; all CTAs are resident at once
    kFollowedWhole,       ///< the others follow through several rounds of the whole grid
    kFollowedShortDepth,  ///< the same of a grid with a shorter main loop
    kShare,               ///< nobody follows: each simulated SM has a share of the memory
  };
  Sampling choose_sampling() const;
  /// Whether it is not too much work to follow through several rounds of a grid of that depth.
  bool few_enough_to_follow(std::int64_t k_tiles) const;
  /// Whether a grid with a shorter main loop can stand for this one, and is few enough to follow.
  bool few_when_shortened() const;
  std::int64_t sms_with_ctas() const;
  std::int64_t instructions_of_sm() const;
  int sample_size() const;
  std::vector<int> leaders_of_stream(int count, int with_ctas) const;
  std::vector<int> choose_sms() const;

  const GemmKernel& kernel_;
  std::int64_t sms_of_gpu_;
  int partitions_;  ///< of the L2
  SimulatedSms simulated_;
  bool extrapolate_;
  Sampling sampling_;
  std::vector<int> sms_;
};

}  // namespace sptc::sim
