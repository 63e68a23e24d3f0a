// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/gemm_problem.h"

#include <map>
#include <memory>
#include <utility>

namespace sptc::run {

/// A GEMM, and what is asked of its kernel.
using AskedLaunch = std::pair<kernels::GemmProblem, kernels::KernelOverrides>;

/// Launches that SystemC has simulated on one GPU, by what was asked for, whose conditions name the
/// clock.
using KnownLaunches = std::map<AskedLaunch, gpu::LaunchFigures>;

/// Those of this process on `gpu`, whose cycles may be carried on where it says `extrapolate`: no
/// launch is simulated twice. The GPUs that were asked for last are kept.
std::shared_ptr<KnownLaunches> known_launches(const gpu::GpuSpec& gpu, bool extrapolate);

}  // namespace sptc::run
