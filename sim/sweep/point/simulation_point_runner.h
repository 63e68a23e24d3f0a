// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/energy.h"
#include "sim/run/simulation_options.h"
#include "sim/sweep/point/point_runner.h"

#include <map>
#include <optional>
#include <string>

namespace sptc::sweep::point {

/// Simulates the points of a sweep as `sptcsim run` would, with all of its options that say what to
/// simulate.
class SimulationPointRunner : public PointRunner {
 public:
  bool needs_process(const space::SweepPlan& plan, const space::SweepPoint& point) const override;
  double estimated_seconds(const space::SweepPlan& plan,
                           const space::SweepPoint& point) const override;
  PointOutcome run(const space::SweepPlan& plan, const space::SweepPoint& point) override;

 private:
  const run::SimulationOptions& options_of(const space::SweepPlan& plan,
                                           const space::SweepPoint& point);
  /// Stays until the next call.
  const config::Architecture& architecture_of(const space::SweepPlan& plan,
                                              const space::SweepPoint& point);

  // Parsed once for all points that share them.
  std::map<std::string, run::SimulationOptions> options_;
  std::map<std::string, config::VariedArchitecture> architectures_;  ///< alike but for numbers
  std::optional<config::Architecture> read_;  ///< of the latest point, at length
  run::SimulationCaches caches_;
};

}  // namespace sptc::sweep::point
