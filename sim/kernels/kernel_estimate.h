// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_target.h"

#include <algorithm>

namespace sptc::kernels {

/// One launch in closed form: what each resource needs by itself [us at the boost clock, DRAM at
/// its own], and what cannot overlap. It follows the cycles of the SystemC model and is fitted to
/// those (form_constants.h).
struct KernelEstimate {
  double tensor_us = 0;         ///< main loop of the busiest SM
  double shared_memory_us = 0;  ///< of the busiest SM
  double issue_us = 0;          ///< of its warps, where they dequantise a weight
  double epilogue_us = 0;       ///< what its warps issue of epilogues while others of them wait
  double l2_us = 0;
  double sm_port_us = 0;  ///< the way from the L2 into the SMs and back, which passes with its work
  double dram_us = 0;
  double store_us = 0;    ///< DRAM takes what it can only take behind the multiplication
  double latency_us = 0;  ///< k-tiles one behind the other, as many under way as there are stages
  double fill_us = 0;     ///< the first tiles arrive, the last results leave
  double launch_us = 0;   ///< of one kernel or, with split-K, of two
  double reduction_l2_us = 0;    ///< summing the slices of split-K: what the L2 moves for it,
  double reduction_dram_us = 0;  ///< and DRAM beside it
  /// Of several rounds: what part the last one is of the busiest SM's work, and of the grid the
  /// CTAs that run then, which have the L2 to themselves.
  double last_share = 0, last_of_grid = 0;
  /// Parts that come behind each other and behind latencies: of CTAs with one k-tile under way.
  struct Serial {
    double data_path = 0, sm_port = 0, dram = 0;
  } serial;

  /// At a clock that is `ratio` of the boost clock.
  double time_us(double ratio) const;
  /// What the SMs have no part in.
  double outside_us() const { return launch_us + reduction_us(); }
  /// The second kernel of split-K, without its launch.
  double reduction_us() const { return std::max(reduction_l2_us, reduction_dram_us); }

 private:
  /// What DRAM works beside: main loops, and what the SMs do between them.
  double beside_dram_us(double ratio) const;
};

/// A launch in closed form.
KernelEstimate estimate(const GemmKernel& kernel, const KernelTarget& target);

}  // namespace sptc::kernels
