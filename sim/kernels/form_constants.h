// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::kernels {

/// Constants of the closed form (kernel_estimate.h), the same for all GPUs. They are fitted to the
/// cycles of the SystemC model and to nothing measured: scripts/fidelity_distance.py says how far
/// the form is from it.
struct FormConstants {
  /// Exponent with which resources work side by side: 1 is one after the other, large is as long as
  /// the slowest.
  double overlap = 10;
  /// Multiply rate of CTAs with fewer than `enough_warps` together on an SM.
  double lone_warps = 0.933;
  double enough_warps = 8;
  double first_fill = 1.84;          ///< latencies until the first tiles of all SMs have arrived
  double barrier_cycles = 380;       ///< waiting, barrier and first fragments, beside the latency
  double metadata_issue_cycles = 8;  ///< between wgmma.sp, beside its pipeline and shared memory
  /// Lone CTAs of two stages wait for DRAM together as long as no more of them, over all rounds,
  /// read a tile; else they drift apart, and some find in the L2 what others waited for.
  double readers_in_step = 2;
  double stores_in_step = 0.7;  ///< share of what CTAs of the last round store that comes at once
  /// Part of the L2 that keeps an operand for the next wave; the rest holds the other one and D.
  double l2_share_of_operand = 0.35;
};
inline constexpr FormConstants kForm;

}  // namespace sptc::kernels
