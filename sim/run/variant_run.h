// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/run/value_files.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::run {

/// Which variants of one operation are simulated: an operation that cannot be pruned is dense in
/// every variant.
bool runs_dense(const workload::Operation& op, Variants variants);
bool runs_sparse(const workload::Operation& op, Variants variants);

bool saves_values(const RunOptions& options);

/// Throws InputError where the data path of `gpu` carries no values at the pattern that `options`
/// ask for. `chained`: layers feed each other.
void require_values(const std::vector<workload::Operation>& operations, bool chained,
                    const gpu::GpuSpec& gpu, const RunOptions& options);

/// One variant of one operation, its values checked as `options` ask, and saved where `saved` is
/// not null. Throws InputError.
VariantResult run_variant(const workload::Operation& op, bool sparse, const gpu::GpuSpec& gpu,
                          const RunOptions& options, const DataSource& data,
                          SwitchingSource& switching, KernelRunner& kernels, ValueFiles* saved);

}  // namespace sptc::run
