// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/workload/workload.h"

#include <string>
#include <string_view>

namespace sptc::plan {

/// Why no 2:4 kernel takes the weight of `op` as engine `engine` launches it on `gpu`; empty where
/// one does. Engines that call cuSPARSELt have its rules (sim/prune/legality.h).
std::string kernel_refusal(const workload::Operation& op, std::string_view engine,
                           const gpu::GpuSpec& gpu);

}  // namespace sptc::plan
