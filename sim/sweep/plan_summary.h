// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/coordinator.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point.h"

namespace sptc::sweep {

struct EstimatedPoint {
  std::uint64_t position = 0;
  float seconds = 0;
};

/// How long points take one after the other.
struct TimeEstimate {
  double seconds = 0;
  double low = 0, high = 0;  ///< if all points were off as the best and the worst of the measured
  int measured = 0;          ///< points that were simulated for it; 0: the runner's guess alone
};

/// Measures the shortest, the median and a long one of `points`, each at most `limit_s` seconds.
TimeEstimate estimate_time(const SweepPlan& plan, PointRunner& runner, std::span<EstimatedPoint> points,
                           double limit_s = 10);

struct PlanSummary {
  std::uint64_t points = 0;                 ///< of the shard
  TimeEstimate time;                        ///< one after the other
  std::optional<TimeEstimate> closed_form;  ///< the same points with --fidelity analytic
  std::string no_closed_form;               ///< why there is none; empty where the sweep is one already
  /// Architectures without energies: their points have neither energy nor area.
  std::vector<std::string> without_energies;
  std::vector<std::string> evidence;  ///< see evidence_lines()
  std::vector<std::uint64_t> first;   ///< positions; none of a search, which chooses as it goes
};

/// Simulates a few of the points. At most `first` positions are listed.
PlanSummary summarize_plan(const SweepPlan& plan, PointRunner& runner, const SweepShard& shard, std::size_t first);

/// JSON is sptcsim-sweep-plan/0.1; times are those of `jobs` processes.
std::string plan_text(const SweepPlan& plan, const PlanSummary& summary, std::size_t jobs);
std::string plan_json(const SweepPlan& plan, const PlanSummary& summary, std::size_t jobs);

}  // namespace sptc::sweep
