// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/kernel_runner.h"
#include "sim/run/simulate.h"

#include <functional>
#include <optional>

namespace sptc::run {

/// What simulate() returns with the fidelity `analytic`, whatever `options` say: closed forms
/// alone. It may be called any number of times, and links no SystemC.
RunResult estimate(const workload::Workload& workload, const config::Architecture& architecture,
                   SimulationOptions options = {}, const SimulationHooks& hooks = {});

/// Launches kernels in closed form. Both arguments outlive it.
Launcher closed_form_launcher(const gpu::GpuSpec& gpu, const RunOptions& options);

/// Makes what launches the kernels of a run. Both arguments outlive it.
using LauncherMaker = std::function<Launcher(const gpu::GpuSpec& gpu, const RunOptions& options)>;

/// simulate(), with launches of the caller's.
RunResult simulate_by(const LauncherMaker& launcher_of, const workload::Workload& workload,
                      const config::Architecture& architecture, const SimulationOptions& options,
                      const SimulationHooks& hooks);

/// The GPU of `architecture` with twice of each cost that is assumed: twice the cycles,
/// microseconds and nanoseconds, half the bytes per cycle and GB/s, half the efficiency. Counts,
/// capacities and clocks stay.
gpu::GpuSpec with_twice_the_assumed_costs(const config::Architecture& architecture);

/// By which path 2:4 weights of `result`, which simulate() returned for the same arguments, came to
/// their kernels, and what they gain on the other path: with the other algorithm of the library,
/// dense and sparse in closed form. Nothing where a variant is missing, or where kernels or tiles
/// are not the library's.
std::optional<LibraryPath> library_path(const workload::Workload& workload,
                                        const config::Architecture& architecture,
                                        const SimulationOptions& options, const RunResult& result);

}  // namespace sptc::run
