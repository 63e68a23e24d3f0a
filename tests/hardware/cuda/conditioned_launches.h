// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/launch_conditions.h"
#include "tests/hardware/capture/timing_device.h"

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>

namespace sptc::hardware {

/// Queues one launch with weight number `weight`.
using QueueLaunch = std::function<void(std::size_t weight, cudaStream_t stream)>;

/// Times launches under `conditions`, whose algorithm `queue` has chosen already:
///   stream  one call each, all of them between two events; us is their mean
///   graph   the same in one CUDA graph
///   eager   the host waits for each; us is what its clock says, of each
/// A cold L2 is flushed before each launch. Events then stand around each, and the flush is in no
/// time.
TimedLaunches time_launches(const QueueLaunch& queue, const kernels::LaunchConditions& conditions,
                            const kernels::Repetition& repetition);

}  // namespace sptc::hardware
