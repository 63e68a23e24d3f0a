// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/launch_spec.h"

namespace sptc::kernels {

/// What the host's way of launching adds to each launch, a graph of launches being the least.
double launch_call_us(LaunchMode launch, bool sparse, const LaunchSpec& spec);

/// From the end of a kernel to the first copy of the next one, of a graph of launches.
double first_copy_us(const GemmKernel& kernel, const LaunchSpec& spec);

/// The same with the host's way of launching.
double launch_gap_us(const GemmKernel& kernel, const LaunchSpec& spec);

/// Time of a launch beside that of its CTAs: from the kernel before to the first block, with
/// split-K for the second kernel too.
double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form,
                          const LaunchSpec& spec);

}  // namespace sptc::kernels
