// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::kernels {
struct GemmKernel;
struct MemoryTraffic;
}  // namespace sptc::kernels

namespace sptc::gpu {

struct GpuSpec;

/// How long each resource worked during a launch [cycles], if it did nothing else: of the busiest
/// SM, or of the whole L2 and DRAM. What overlaps is counted in each.
struct CycleBudget {
  double cycles = 0;         ///< of the launch
  double tensor = 0;         ///< multipliers, padding included
  double tensor_mean = 0;    ///< the same, of the mean SM: the rest of `tensor` is wave tail
  double operand_fetch = 0;  ///< beside `tensor`: narrow ports and the selector hold mma back
  double shared_memory = 0;  ///< fragments read and tiles written, at full width
  double sm_port = 0;        ///< between the SM and the L2
  double l2 = 0;
  double dram = 0;
  double reduction = 0;  ///< behind all those: the second kernel of split-K sums the slices
};

CycleBudget cycle_budget(const kernels::GemmKernel& kernel, const kernels::MemoryTraffic& traffic, std::int64_t cycles,
                         double clock_mhz, const GpuSpec& gpu);

/// The part of `traffic` that a launch on `sms` SMs waits for at the least: the L2 may keep partial
/// sums until they are read.
kernels::MemoryTraffic waited_for(const kernels::GemmKernel& kernel, kernels::MemoryTraffic traffic, std::int64_t sms);

}  // namespace sptc::gpu
