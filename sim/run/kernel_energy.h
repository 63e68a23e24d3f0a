// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/power.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/network/kernel_plan.h"
#include "sim/network/kernel_time.h"
#include "sim/run/energy.h"

namespace sptc::sim {

/// A launch that is no GEMM as the power model sees it.
energy::Work work_of_kernel(const PlannedKernel& kernel, const Network& network,
                            const ClosedForm& form, const GpuSpec& gpu,
                            const energy::PowerSpec& power, SwitchingSource& switching);

}  // namespace sptc::sim
