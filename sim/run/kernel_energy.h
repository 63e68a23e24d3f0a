// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/power.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/network/kernel_plan.h"
#include "sim/network/kernel_time.h"
#include "sim/run/energy.h"

namespace sptc::run {

/// A launch that is no GEMM as the power model sees it.
energy::Work work_of_kernel(const network::PlannedKernel& kernel, const network::Network& network,
                            const network::ClosedForm& form, const gpu::GpuSpec& gpu,
                            const energy::PowerSpec& power, SwitchingSource& switching);

}  // namespace sptc::run
