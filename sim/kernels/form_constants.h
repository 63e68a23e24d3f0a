// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::kernels {

/// Constants of the closed form (kernel_estimate.h), the same for all GPUs. They are fitted to the
/// cycles of the SystemC model and to nothing measured: scripts/fidelity_distance.py says how far
/// the form is from it.
struct FormConstants {
  // Exponents with which resources work side by side: 1 is one after the other, large is as long as
  // the slowest.
  double data_path_overlap = 16;  ///< tensor cores and shared memory,
  double l2_overlap = 13;         ///< the L2 beside the data path,
  double latency_overlap = 6.4;   ///< latencies beside both,
  double dram_overlap = 13;       ///< and DRAM beside all of them
  /// Multiply rate of a CTA with fewer than `enough_warps` that is alone on its SM.
  double lone_warps = 0.933;
  double enough_warps = 8;
  double first_fill = 1.78;        ///< latencies until the first tiles of all SMs have arrived
  double barrier_cycles = 363;     ///< waiting, barrier and first fragments, beside the latency
  double one_by_one_cycles = 168;  ///< the same of a k-tile that is waited for by itself
  /// Lone CTAs of two stages wait for DRAM together as long as no more of them, over all rounds,
  /// read a tile; else they drift apart, and some find in the L2 what others waited for.
  double readers_in_step = 2;
  /// Part of the L2 that keeps an operand for the next wave; the rest holds the other one and D.
  double l2_share_of_operand = 0.35;
};
inline constexpr FormConstants kForm;

}  // namespace sptc::kernels
