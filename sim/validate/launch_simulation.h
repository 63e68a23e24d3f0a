// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/run_options.h"
#include "sim/validate/measurements.h"
#include "sim/validate/prediction.h"

#include <map>
#include <span>
#include <string>

namespace sptc::sim {

/// Simulates measured launches one after the other, each as `run` does a workload of one GEMM under
/// the conditions of that launch. SystemC elaborates once per process, so at most one such object
/// that simulates events per process.
class LaunchSimulation {
 public:
  /// `options`: what launches have in common: fidelity, SMs, clock, energies. `architecture` must
  /// outlive it.
  LaunchSimulation(const Architecture& architecture, const RunOptions& options);
  LaunchSimulation(const LaunchSimulation&) = delete;
  LaunchSimulation& operator=(const LaunchSimulation&) = delete;

  /// Throws InputError where the GPU has no kernel for it.
  Prediction operator()(const MeasuredLaunch& launch);

 private:
  struct Values {
    explicit Values(DataKind kind) : data(kind, 0), switching(data) {}
    GeneratedData data;
    SwitchingSource switching;
  };

  const Architecture& architecture_;
  const RunOptions common_;
  RunOptions options_;  ///< of the launch; `launcher_` sees its clock
  GemmLauncher launcher_;
  std::map<DataKind, Values> values_;
};

/// Throws InputError "file:line: ..." for the first row of a type and sparsity that `architecture`
/// has no kernel for: before the simulation, which may be long.
void require_kernels(std::span<const Measurement> rows, const std::string& file,
                     const Architecture& architecture, const RunOptions& options);

/// Simulates the launch of each of `rows`, which are of `file`, in `jobs` processes; see
/// predict_launches().
std::vector<Prediction> simulate_launches(
    std::span<const Measurement> rows, const std::string& file, const Architecture& architecture,
    const RunOptions& options, int jobs,
    const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace sptc::sim
