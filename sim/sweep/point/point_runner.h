// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/point/point_figures.h"
#include "sim/sweep/space/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::sweep::point {

/// What became of a point.
struct PointOutcome {
  std::uint64_t position = 0;
  bool failed = false;
  std::string reason;                         ///< why it failed; empty where it did not
  PointFigures totals;                        ///< of the run
  std::vector<PointFigures> operations = {};  ///< each operation and variant; empty: not kept
  std::string notes = {};                     ///< what a reader of the figures must know
  std::string hash = {};  ///< SweepPlan::hash(), by whoever simulated the point; empty: not yet
};

/// Simulates points. The sweep knows nothing of a simulation but this.
class PointRunner {
 public:
  virtual ~PointRunner() = default;

  /// Whether SystemC simulates it: for long, and in a process that can be ended.
  virtual bool needs_process(const space::SweepPlan& plan,
                             const space::SweepPoint& point) const = 0;

  /// A guess, good enough to begin with the longest and to warn of a sweep that takes weeks.
  virtual double estimated_seconds(const space::SweepPlan& plan,
                                   const space::SweepPoint& point) const = 0;

  /// Throws InputError where the point cannot be simulated.
  virtual PointOutcome run(const space::SweepPlan& plan, const space::SweepPoint& point) = 0;
};

}  // namespace sptc::sweep::point
