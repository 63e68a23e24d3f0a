// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/network/engine.h"
#include "sim/run/energy.h"
#include "sim/run/inference_result.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::run {

/// One pass of a network under `engine`: its kernels one behind the other, at the one clock at
/// which their mean power is what the board allows. `operations` are those of the workload as
/// under_engine() has them. Each GEMM is simulated by `kernels`, dense and, where its weight can be
/// pruned, sparse; what lies between them is computed in closed form.
InferenceResult run_inference(const std::vector<workload::Operation>& operations,
                              const std::vector<workload::VectorOperation>& vectors,
                              const network::EngineSpec& engine, const gpu::GpuSpec& gpu,
                              const RunOptions& options, KernelRunner& kernels,
                              SwitchingSource& switching);

}  // namespace sptc::run
