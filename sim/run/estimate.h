// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/kernel_runner.h"
#include "sim/run/simulate.h"

#include <functional>

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

}  // namespace sptc::run
