// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/measurements.h"
#include "sim/compare/times/prediction.h"
#include "sim/config/architecture.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/run_options.h"

#include <map>
#include <span>
#include <string>

namespace sptc::compare::times {

/// Simulates measured launches one after the other, each as `run` does a workload of one GEMM under
/// the conditions of that launch.
class LaunchSimulation {
 public:
  /// `options`: what launches have in common: fidelity, clock, energies. `architecture` must
  /// outlive it.
  /// `with_recorded`: with the kernel that a launch names, where it names one.
  LaunchSimulation(const config::Architecture& architecture, const run::RunOptions& options,
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
  const run::RunOptions common_;
  run::RunOptions options_;  ///< of the launch; `launcher_` sees its clock
  run::GemmLauncher launcher_;
  std::map<workload::DataKind, Values> values_;
};

/// Throws InputError "file:line: ..." for the first row of a type and sparsity that `architecture`
/// has no kernel for: before the simulation, which may be long.
void require_kernels(std::span<const Measurement> rows, const std::string& file,
                     const config::Architecture& architecture, const run::RunOptions& options);

/// Simulates the launch of each of `rows`, which are of `file`, in `jobs` processes; see
/// predict_launches().
std::vector<Prediction> simulate_launches(
    std::span<const Measurement> rows, const std::string& file,
    const config::Architecture& architecture, const run::RunOptions& options, int jobs,
    const std::function<void(std::size_t, std::size_t)>& progress = {}, bool with_recorded = false);

}  // namespace sptc::compare::times
