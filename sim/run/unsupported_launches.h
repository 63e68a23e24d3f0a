// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/workload.h"

#include <optional>

namespace sptc::run {

/// Moves the launches of a recording whose operands the tensor cores of `gpu` do not multiply, with
/// the types that `options` ask for, to those that are not taken. A list that nobody recorded stays
/// as it is: simulate() refuses such an operation. Throws InputError where no launch is left.
void leave_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options,
                       workload::Workload& workload);

/// `workload` without what leave_unsupported() leaves; nothing where it leaves none.
std::optional<workload::Workload> without_unsupported(const gpu::GpuSpec& gpu,
                                                      const SimulationOptions& options,
                                                      const workload::Workload& workload);

/// Throws InputError where `result` is not of all launches, as figures that are compared must be.
void require_all_launches(const RunResult& result);

}  // namespace sptc::run
