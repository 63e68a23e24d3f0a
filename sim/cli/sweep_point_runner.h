// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/simulation_options.h"
#include "sim/config/architecture.h"
#include "sim/sweep/point_runner.h"

#include <map>
#include <string>

namespace sptc::sim {

/// Simulates the points of a sweep as `sptcsim run` would, with all of its options that say what to
/// simulate.
class SimulationPointRunner : public PointRunner {
 public:
  void check_option(const std::string& option, const std::string& value) const override;
  /// Whether the closed form of --fidelity analytic reads the parameter at `pointer`. The pipeline
  /// depths of an SM are below its resolution.
  static bool acts_in_closed_form(std::string_view pointer);
  bool needs_process(const SweepPlan& plan, const SweepPoint& point) const override;
  double estimated_seconds(const SweepPlan& plan, const SweepPoint& point) const override;
  PointOutcome run(const SweepPlan& plan, const SweepPoint& point) override;

 private:
  const SimulationOptions& options_of(const SweepPoint& point);
  const Architecture& architecture_of(const SweepPlan& plan, const SweepPoint& point);
  Architecture derived(const SweepPlan& plan, const SweepPoint& point);

  // Parsed once for all points that share them.
  std::map<std::string, SimulationOptions> options_;
  std::map<std::string, Architecture> architectures_;
  std::map<std::size_t, Architecture> bases_;  ///< as the spec names them
  RunCaches kept_;
};

}  // namespace sptc::sim
