// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/energy.h"
#include "sim/run/simulation_options.h"
#include "sim/sweep/point.h"

namespace sptc::sweep {

/// Simulates points as `sptcsim run` would, with all options that say what to simulate.
class SimulationPointRunner : public PointRunner {
 public:
  bool needs_process(const SweepPoint& point) const override;
  double estimated_seconds(const SweepPlan& plan, const SweepPoint& point) const override;
  PointOutcome run(const SweepPlan& plan, const SweepPoint& point) override;

 private:
  const run::SimulationOptions& options_of(const SweepPlan& plan, const SweepPoint& point);
  /// Stays until the next call.
  const config::Architecture& architecture_of(const SweepPlan& plan, const SweepPoint& point);

  // Parsed once for all points that share them.
  std::map<std::map<std::string, std::string>, run::SimulationOptions> options_;
  std::map<std::string, config::VariedArchitecture> architectures_;  ///< alike but for numbers
  std::optional<config::Architecture> read_;                         ///< of the latest point, at length
  run::SimulationCaches caches_;
};

}  // namespace sptc::sweep
