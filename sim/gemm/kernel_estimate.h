// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_library_spec.h"
#include "sim/gemm/kernel_target.h"

#include <algorithm>

namespace sptc::sim {

/// One launch in closed form: what each resource needs by itself [us at the boost clock, DRAM at
/// its own], and what cannot overlap.
struct KernelEstimate {
  double tensor_us = 0;         ///< main loop of the busiest SM
  double shared_memory_us = 0;  ///< of the busiest SM
  double l2_us = 0;
  double sm_port_us = 0;  ///< the way from the L2 into the SMs and back, which passes with its work
  double dram_us = 0;
  double store_us = 0;    ///< DRAM takes what it can only take behind the multiplication
  double latency_us = 0;  ///< k-tiles one behind the other, as many under way as there are stages
  double fill_us = 0;     ///< the first tiles arrive, the last results leave
  double next_fills_us = 0;      ///< the same for the rounds of CTAs between
  double launch_us = 0;          ///< of one kernel or, with split-K, of two
  double reduction_l2_us = 0;    ///< summing the slices of split-K: what the L2 moves for it,
  double reduction_dram_us = 0;  ///< and DRAM beside it
  /// Tensor cores of the mean SM at their peak rate, which the clock follows; of a sparse kernel
  /// what a dense one's would be in the time of its main loops.
  double load_us = 0;
  /// Of several rounds: what part the last one is of the busiest SM's work, and of the grid the
  /// CTAs that run then, which have the L2 to themselves.
  double last_share = 0, last_of_grid = 0;
  /// Parts that come behind each other and behind latencies: of CTAs with one k-tile under way.
  struct Serial {
    double data_path = 0, sm_port = 0, dram = 0;
  } serial;
  double l2_overlap = 1;       ///< exponents of overlap: L2 beside the data path,
  double latency_overlap = 1;  ///< latencies beside both,
  double dram_overlap = 1;     ///< and DRAM beside all of them

  /// At a clock that is `ratio` of the boost clock.
  double time_us(double ratio) const;
  /// Of that, what DRAM works beside: main loops, and what the SMs do between them.
  double beside_dram_us(double ratio) const;
  /// What DRAM does beside that.
  double dram_beside_us() const { return (1 - serial.dram) * dram_us; }
  /// And what it does not: D that is waited for, the first tiles and the last results.
  double around_us(double ratio) const { return store_us + fill_us / ratio; }
  /// What the SMs have no part in.
  double outside_us() const { return launch_us + reduction_us(); }
  /// The second kernel of split-K, without its launch.
  double reduction_us() const { return std::max(reduction_l2_us, reduction_dram_us); }
  /// Share of the launch in which the mean tensor core is loaded, at the boost clock.
  double utilization() const { return load_us / time_us(1); }
};

/// Time of two resources that work side by side: their sum where `overlap` is 1, the longer one
/// where it is infinite.
double side_by_side_us(double one, double other, double overlap);

/// A launch on the GPU, by its library.
KernelEstimate estimate(const GemmKernel& kernel, const KernelTarget& target);

/// The same launch in the SystemC model, whose main loops, overlap and scheduling are not those of
/// the library: how far it follows that is in configs/CALIBRATION.md.
KernelEstimate simulated_estimate(const GemmKernel& kernel, const KernelTarget& target);

/// Time of the busiest SM where the library evens out a part of its waves, as a share of whole
/// ones.
double share_of_waves(const GemmKernel& kernel, const KernelTarget& target);

/// Cycles of an SM for one k-tile of one CTA, at the least: tensor cores at their peak rate, or
/// operands on their way through shared memory.
double k_tile_cycles(const GemmKernel& kernel, const KernelTarget& target);

/// SM clock under sustained load, as a share of the boost clock: 1 up to the knee, then
/// (knee / utilization) ^ exponent.
double sustained_clock_ratio(double utilization, const KernelLibrarySpec& library);

}  // namespace sptc::sim
