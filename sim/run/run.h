// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/gpu/timer.h"
#include "sim/run/asked_work.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/run/worker_pool.h"
#include "sim/workload/workload.h"

#include <string>
#include <vector>

namespace sptc::run {

/// Runs every operation of `given` on `architecture`, dense and sparse as it is asked for, checks
/// values and sums up; see leave_unsupported() for what it leaves of a recording. `data` holds the
/// operand values; null: the real values of the workload's network where it has them and the
/// fidelity carries values, else seeded random ones. `switching`: of the same operand values, kept
/// between runs; null: sampled for this one. The result names no assumptions. Throws InputError.
RunResult run_workload(const workload::Workload& given, const config::Architecture& architecture,
                       const SimulationOptions& asked, const DataSource* data, gpu::Timer& timer,
                       const ProgressCallback& progress = {}, SwitchingSource* switching = nullptr);

/// Adds ExplanationResult::what_if to each launch of `results`, at the clock that it got.
void add_what_ifs(const std::vector<workload::Operation>& operations, const KernelRunner& kernels,
                  std::vector<OperationResult>& results);

/// RunResult::assumed: the parameters of `architecture` with evidence "assumed".
std::vector<std::string> assumptions(const config::Architecture& architecture);

}  // namespace sptc::run
