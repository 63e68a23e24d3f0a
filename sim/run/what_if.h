// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_fwd.h"
#include "sim/kernels/kernels_fwd.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace sptc::run {

/// What may be twice as fast, or there twice.
enum class Resource {
  kTensor,        ///< tensor cores and what feeds them operands
  kSharedMemory,  ///< its banks
  kSmPort,        ///< bandwidth between each SM and the L2
  kL2,            ///< bandwidth
  kDram,          ///< bandwidth
  kLatency,       ///< of the memory, of shared memory and of barriers
  kLaunch,        ///< what it takes beside the SMs
  kGrid,          ///< CTAs: as many on each SM, at most for twice the speed
  kSms,           ///< their number
  kClock,         ///< of the SMs, the L2 and its ports
};
inline constexpr std::size_t kResources = 10;
/// Number of the first of those that `bound_by` may name. SMs and clock are several of them at
/// once.
inline constexpr std::size_t kSingleResources = 8;

/// The name in reports and columns, and what is done to the resource.
struct ResourceName {
  std::string_view report, column, change;
};
inline constexpr std::array<ResourceName, kResources> kResourceNames{
    {{"tensor", "tensor", "twice the tensor rate"},
     {"smem", "smem", "twice the shared memory rate"},
     {"sm_port", "SM port", "twice the rate of the SMs' ports"},
     {"l2", "L2", "twice the L2 rate"},
     {"hbm", "DRAM", "twice the DRAM rate"},
     {"latency", "latency", "half the latencies of memory and barriers"},
     {"launch", "launch", "half the time of a launch"},
     {"grid", "grid", "CTAs that fill all SMs evenly"},
     {"sms", "SMs", "twice the SMs"},
     {"clock", "clock", "twice the clock"}}};
inline const ResourceName& name_of(Resource resource) {
  return kResourceNames[static_cast<std::size_t>(resource)];
}

/// Speed-up of a launch by resource.
struct WhatIf {
  std::array<double, kResources> speedup{};

  double operator[](Resource resource) const { return speedup[static_cast<std::size_t>(resource)]; }
  /// The single resource that gains most where it is twice as fast.
  Resource bound_by() const;
};

/// Time of a launch of `problem` with `kernel` on `gpu` at `clock_mhz`, in closed form.
double closed_form_us(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel, double clock_mhz,
                      const gpu::GpuSpec& gpu);

/// What a launch of `problem` with `kernel` gains on a `gpu` with twice of each resource: in closed
/// form, with the same kernel at the same clock.
WhatIf what_if(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel, double clock_mhz,
               const gpu::GpuSpec& gpu);

}  // namespace sptc::run
