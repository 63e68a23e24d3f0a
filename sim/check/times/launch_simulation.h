// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/times/measurements.h"
#include "sim/config/config_fwd.h"
#include "sim/gpu/timer.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/simulation_options.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::check::times {

/// Simulates measured launches one after the other, each as `run` does a workload of one GEMM under the conditions of
/// that launch.
class LaunchSimulation {
 public:
  /// `options`: what launches have in common: fidelity, clock, energies. `architecture` must outlive it.
  /// `with_recorded`: with the kernel that a launch names, where it names one.
  LaunchSimulation(const config::Architecture& architecture, const run::SimulationOptions& options,
                   bool with_recorded = false);
  LaunchSimulation(const LaunchSimulation&) = delete;
  LaunchSimulation& operator=(const LaunchSimulation&) = delete;

  /// Throws InputError where the GPU has no kernel for it.
  Prediction operator()(const MeasuredLaunch& launch);

 private:
  struct Values {
    explicit Values(workload::DataKind kind) : data(kind, 0), switching(data) {}
    run::GeneratedData data;
    run::SwitchingSource switching;
  };

  const config::Architecture& architecture_;
  const bool with_recorded_;
  const run::SimulationOptions common_;
  run::SimulationOptions options_;  ///< of the launch; `timer_` sees its clock
  std::unique_ptr<gpu::Timer> timer_;
  std::optional<kernels::KernelOverrides> kernel_;  ///< that the launch names and runs with
  std::map<workload::DataKind, Values> values_;
};

/// Simulated launches of `rows`, which are of `file`, in their order. Each of `jobs` processes takes the next of the
/// distinct launches; with one job nothing is forked. `progress` hears launches done and how many there are. Throws
/// InputError "file:line: ...": before the simulation, which may be long, for the first row of a type and sparsity that
/// `architecture` has no kernel for.
std::vector<Prediction> simulate_launches(std::span<const Measurement> rows, const std::string& file,
                                          const config::Architecture& architecture,
                                          const run::SimulationOptions& options, int jobs,
                                          const std::function<void(std::size_t done, std::size_t total)>& progress = {},
                                          bool with_recorded = false);

}  // namespace sptc::check::times
