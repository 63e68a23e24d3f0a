// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace sptc::kernels {

struct GemmKernel;
struct KernelTarget;
struct LaunchSpec;

/// One launch in closed form: what each resource needs by itself [us at the boost clock, DRAM at
/// its own], and what cannot overlap. It follows the cycles of the SystemC model and is fitted to
/// those (form_constants.h).
struct KernelEstimate {
  double tensor_us = 0;         ///< main loop of the busiest SM
  double shared_memory_us = 0;  ///< of the busiest SM
  double issue_us = 0;          ///< of its warps, where they dequantise a weight
  double metadata_us = 0;       ///< of warpgroups that wait for metadata, one instruction at a time
  double epilogue_us = 0;       ///< what its warps issue of epilogues while others of them wait
  double l2_us = 0;
  double sm_port_us = 0;  ///< the way from the L2 into the SMs and back, which passes with its work
  double dram_us = 0;
  double written_us = 0;         ///< of that, for D,
  double last_d_us = 0;          ///< and for D of the last round, which it takes behind the launch
  double store_us = 0;           ///< D of a CTA passes the port of its SM
  double last_l2_us = 0;         ///< the L2 takes what CTAs of the last round store in step
  double last_dram_us = 0;       ///< DRAM takes what the L2 cannot keep of it
  double gap_us = 0;             ///< between two launches, in which DRAM goes on
  double latency_us = 0;         ///< k-tiles one behind the other, as many under way as there are stages
  double fill_us = 0;            ///< the first tiles arrive, the last results leave
  double launch_us = 0;          ///< of one kernel or, with split-K, of two
  double reduction_l2_us = 0;    ///< summing the slices of split-K: what the L2 moves for it,
  double reduction_dram_us = 0;  ///< and DRAM beside it
  /// Parts that come behind each other and behind latencies: of CTAs with one k-tile under way.
  struct Serial {
    double data_path = 0, sm_port = 0;  ///< shares of their times
    double dram_us = 0;                 ///< of several such CTAs that wait for DRAM together
  } serial;

  /// Time at a clock that is `ratio` of the boost clock.
  double time_us(double ratio) const { return std::max(alone_us(ratio), dram_us - drained_us()) + outside_us(); }
  /// Time in which DRAM takes D between this launch and the next one, which is like it.
  double drained_us() const { return std::min(written_us, gap_us); }
  /// Time from the first CTA to the last one, with an L2 that holds no D of launches before.
  double alone_us(double ratio) const;
  /// Whether launch after launch leaves more of D in the L2 than DRAM takes until the next one
  /// ends.
  bool fills_l2_with_d() const { return dram_us - drained_us() > alone_us(1); }
  KernelEstimate without_dram() const;
  /// What the SMs have no part in.
  double outside_us() const { return launch_us + reduction_us(); }
  /// The second kernel of split-K, without its launch.
  double reduction_us() const { return std::max(reduction_l2_us, reduction_dram_us); }
};

/// What the estimate of a launch is not below at the boost clock [us], with DRAM or without, found
/// in a small part of its time: what the tensor cores need, launches, and what the L2 moves for
/// split-K.
double least_us(const GemmKernel& kernel, const KernelTarget& target);

KernelEstimate estimate(const GemmKernel& kernel, const KernelTarget& target);

/// Time of a launch beside that of its CTAs: from the kernel before to the first block, with
/// split-K for the second kernel too.
double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form, const LaunchSpec& spec);

}  // namespace sptc::kernels
