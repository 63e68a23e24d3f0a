// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/gpu/gpu_spec.h"

namespace sptc::run {

/// The GPU of `architecture` with twice of each cost that is assumed: twice the cycles,
/// microseconds and nanoseconds, half the bytes per cycle and GB/s, half the efficiency. Counts,
/// capacities and clocks stay.
gpu::GpuSpec with_twice_the_assumed_costs(const config::Architecture& architecture);

}  // namespace sptc::run
