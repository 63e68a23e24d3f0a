// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_options.h"
#include "sim/workload/workload.h"

#include <string>
#include <vector>

namespace sptc::run {

/// What the memory of `gpu` cannot hold of the weights of `operations` and, where `vectors` keep
/// one, of the key-value cache, in a sentence with the number of boards that it takes; empty where
/// they fit or where nobody says how many weights there are or how much the board holds. Of
/// `workload`: `operations` and `vectors` as asked_work() has them, those of one of several GPUs.
std::string does_not_fit(const workload::Workload& workload,
                         const std::vector<workload::Operation>& operations,
                         const std::vector<workload::VectorOperation>& vectors,
                         const RunOptions& options, const gpu::GpuSpec& gpu);

}  // namespace sptc::run
