// SPDX-License-Identifier: Apache-2.0
//
// A sweep in closed form may let SystemC simulate its Pareto front, and what is near it, once more:
// the closed form may have chosen wrongly there.
#pragma once

#include "sim/sweep/coordinator.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/sweep_table.h"

namespace sptc::sweep {

/// How much the two fidelities may differ before a point is marked.
inline constexpr double kFidelitiesAgree = 0.05;

/// Before the name of a total: what SystemC says of it.
inline constexpr std::string_view kTimingPrefix = "timing_";

/// The same sweep by SystemC, totals alone. Throws InputError where it is none in closed form.
SweepSpec as_timing(SweepSpec spec);

/// Positions on the fronts, and of those that would have to improve by kFidelitiesAgree at most to
/// be there: the `most` nearest, without those that SystemC has simulated already.
std::vector<std::uint64_t> points_near_front(const SweepTable& table, std::size_t most);

/// Lets SystemC simulate up to `most` of points_near_front() of the finished `results`. What is
/// done lies in RESULTS.timing until the end, which may come early, and is then added to the
/// results; what a killed process left there is added first. Throws InputError as as_timing() does.
SweepProgress simulate_again(const SweepWork& work, const std::filesystem::path& results, std::size_t most,
                             const SweepStore::Options& options);

/// Adds what SystemC says, the totals in `timing`, to the rows of `results` as columns.
void add_timing(const std::filesystem::path& results, const std::filesystem::path& timing);

struct SimulatedAgain {
  std::size_t row = 0;
  double time_ratio = 1;  ///< of the first objective, SystemC over closed form
  bool differs = false;   ///< one of the objectives, by more than kFidelitiesAgree
  bool was_on_front = false;
  bool is_beaten = false;  ///< in SystemC, by another one of these points
};

/// Points in the order of rows_by_workload().
std::vector<SimulatedAgain> simulated_again(const SweepTable& table);

}  // namespace sptc::sweep
