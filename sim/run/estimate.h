// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/gpu/timer.h"
#include "sim/run/energy.h"
#include "sim/run/simulate.h"

#include <memory>
#include <optional>

namespace sptc::run {

/// What simulate() returns with the fidelity `analytic`, whatever `options` say: closed forms
/// alone. It may be called any number of times, and links no SystemC.
RunResult estimate(const workload::Workload& workload, const config::Architecture& architecture,
                   SimulationOptions options = {}, const SimulationHooks& hooks = {});

/// The arguments of simulate(), checked and resolved: all that is left are the launches.
class PreparedRun {
 public:
  /// The arguments must outlive it. Throws InputError.
  PreparedRun(const workload::Workload& workload, const config::Architecture& architecture,
              const SimulationOptions& asked, const SimulationHooks& hooks);
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;

  const config::Architecture& board() const { return *board_; }
  const SimulationOptions& options() const { return options_; }

  /// Runs the workload, of which `timer` times each launch on board().
  RunResult run(gpu::Timer& timer, const ProgressCallback& progress) const;
  RunResult run_for_times(gpu::Timer& timer) const;

 private:
  const workload::Workload& workload_;
  const config::Architecture* board_;
  std::optional<config::Architecture> changed_;  ///< `board_`, where that is not the given one
  SimulationOptions options_;
  const DataSource* data_;
  std::unique_ptr<DataSource> named_;  ///< `data_`, where the options name it
  SimulationCaches own_;
  SwitchingSource* switching_ = nullptr;  ///< of generated operands
};

/// Ends a run before its next launch where `hooks`, which must outlive it, say so.
gpu::Timer::Hook stop_if_cancelled(const SimulationHooks& hooks);

/// The GPU of `architecture` with twice of each cost that is assumed: twice the cycles,
/// microseconds and nanoseconds, half the bytes per cycle and GB/s, half the efficiency. Counts,
/// capacities and clocks stay.
gpu::GpuSpec with_twice_the_assumed_costs(const config::Architecture& architecture);

/// The path by which 2:4 weights of `result`, which simulate() returned for the same arguments,
/// came to their kernels, and what they gain on the other path: with the other algorithm of the
/// library, dense and sparse in closed form. Nothing where a variant is missing, or where kernels
/// or tiles are not the library's.
std::optional<LibraryPath> library_path(const workload::Workload& workload, const config::Architecture& architecture,
                                        const SimulationOptions& options, const RunResult& result);

}  // namespace sptc::run
