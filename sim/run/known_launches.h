// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/gemm_problem.h"

#include <map>
#include <memory>
#include <utility>

namespace sptc::run {

/// Launches without values that SystemC has simulated on one GPU, by problem, whose conditions name
/// the clock, and the kernel that was asked for.
using KnownLaunches =
    std::map<std::pair<kernels::GemmProblem, kernels::KernelOverrides>, gpu::GemmRun>;

/// Those of this process on `gpu`, whose cycles may be carried on where it says `extrapolate`: no
/// launch is simulated twice. The GPUs that were asked for last are kept.
std::shared_ptr<KnownLaunches> known_launches(const gpu::GpuSpec& gpu, bool extrapolate);

}  // namespace sptc::run
