// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/execution/coordinator.h"
#include "sim/sweep/execution/time_estimate.h"
#include "sim/sweep/point/point_runner.h"
#include "sim/sweep/space/plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::sweep::execution {

/// What a sweep would do, before it does.
struct PlanSummary {
  std::uint64_t points = 0;                 ///< of the shard
  TimeEstimate time;                        ///< one after the other
  std::optional<TimeEstimate> closed_form;  ///< the same points with --fidelity analytic
  std::string no_closed_form;  ///< why there is none; empty where the sweep is one already
  /// Architectures without energies: their points have neither energy nor area.
  std::vector<std::string> without_energies;
  std::vector<std::uint64_t> first;  ///< positions; none of a search, which chooses as it goes
};

/// Simulates a few of the points. At most `first` positions are listed.
PlanSummary summarize_plan(const space::SweepPlan& plan, point::PointRunner& runner,
                           const SweepShard& shard, std::size_t first);

/// For a reader, and as JSON of the schema sptcsim-sweep-plan/0.1; times are those of `jobs`
/// processes.
std::string plan_text(const space::SweepPlan& plan, const PlanSummary& summary, std::size_t jobs);
std::string plan_json(const space::SweepPlan& plan, const PlanSummary& summary, std::size_t jobs);

}  // namespace sptc::sweep::execution
