// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace sptc::sim {

// Constants of the closed forms (kernel_estimate.h) beside those of a GPU and its library. What
// they were fitted on, and what they are worth: configs/CALIBRATION.md, "Constants in the code",
// which a test compares with this file.

/// Those of which the form of the GPU and that of the simulated SM have their own.
struct FormConstants {
  double l2_overlap;       ///< exponent with which the L2 passes beside the data path,
  double latency_overlap;  ///< and latencies beside both
  double lone_warps;       ///< multiply rate of a CTA with few warps that is alone on its SM
  double first_fill;       ///< DRAM latencies until the first tiles of all SMs have arrived
  double next_fill;        ///< and those of each further round
  double store_wait;       ///< how often D of a CTA that is not the last one is waited for
  double barrier_cycles;   ///< waiting, barrier and first fragments of a k-tile, beside the latency
};

// The launch cost, overlap and library of a GPU are fitted to measured times with these.
inline constexpr FormConstants kGpuForm{.l2_overlap = 16,
                                        .latency_overlap = 16,
                                        .lone_warps = 0.9,
                                        .first_fill = 5.2,
                                        .next_fill = 1.5,
                                        .store_wait = 2.3,
                                        .barrier_cycles = 150};
// Fitted to the simulated SM, not to measured times.
inline constexpr FormConstants kModelForm{.l2_overlap = 13,
                                          .latency_overlap = 6.4,
                                          .lone_warps = 0.933,
                                          .first_fill = 1.78,
                                          .next_fill = 0,
                                          .store_wait = 0,
                                          .barrier_cycles = 363};
/// Exponent with which DRAM passes beside the simulated SMs: of a GPU it is its own.
inline constexpr double kModelDramOverlap = 13;

/// Those that both forms have.
struct CommonConstants {
  /// Exponent with which tensor cores and shared memory work side by side.
  double data_path_overlap = 16;
  /// Main loop of a tile that the library of a GPU does not have, as a share of the rate.
  double other_tile = 0.987;
  /// Of a k-tile that is waited for by itself, beside DRAM's latency and the port: barrier and
  /// first fragments. The simulated SM: 162 on an A40, 174 on an H100.
  double one_by_one_cycles = 168;
  /// Lone CTAs of two stages wait for DRAM together as long as no more of them, over all rounds,
  /// read a tile; else they drift apart, and some find in the L2 what others waited for.
  double readers_in_step = 2;
  /// Part of the L2 that keeps an operand for the next wave; the rest holds the other one and D.
  double l2_share_of_operand = 0.35;
  /// With fewer warps a CTA that is alone on its SM has fewer than two per sub-partition, and
  /// multiplies at `lone_warps`.
  double enough_warps = 8;
};
inline constexpr CommonConstants kBothForms;

// Each list names every number once: one more in the struct, or one that is no double, does not
// compile.
consteval int count_numbers(const FormConstants& form) {
  const auto& [l2_overlap, latency_overlap, lone_warps, first_fill, next_fill, store_wait,
               barrier_cycles] = form;
  return static_cast<int>(std::array{l2_overlap, latency_overlap, lone_warps, first_fill, next_fill,
                                     store_wait, barrier_cycles}
                              .size());
}
consteval int count_numbers(const CommonConstants& both) {
  const auto& [data_path_overlap, other_tile, one_by_one_cycles, readers_in_step,
               l2_share_of_operand, enough_warps] = both;
  return static_cast<int>(std::array{data_path_overlap, other_tile, one_by_one_cycles,
                                     readers_in_step, l2_share_of_operand, enough_warps}
                              .size());
}

/// How many numbers stand behind the form of every GPU beside its own.
inline constexpr int kNumbersOfForm = count_numbers(kGpuForm) + count_numbers(kBothForms);

}  // namespace sptc::sim
