// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::run {

/// Adds to result.notes what a reader of its operations must know about values, kernels, clock and
/// design.
/// `network_ran`: the network of `workload` classified its samples.
void add_notes(const workload::Workload& workload, const RunOptions& options,
               const gpu::GpuSpec& gpu, bool network_ran, RunResult& result);

/// The same of how operands lie in memory; `operations`: those that ran.
void add_notes_on_storage(const std::vector<workload::Operation>& operations, RunResult& result);

}  // namespace sptc::run
