// SPDX-License-Identifier: Apache-2.0
#include "sim/run/what_if.h"

#include "sim/gpu/analytic_gemm.h"

#include <algorithm>
#include <iterator>

namespace sptc::run {
namespace {

void double_tensor_core(sm::SmSpec& sm) {
  tensor_core::TensorCoreSpec& core = sm.tensor_core;
  for (int* const rate : {&core.dot_units, &core.f32_dot_units, &core.f64_multipliers}) {
    *rate *= 2;
  }
  for (double* const rate :
       {&core.operand_a_port_bytes_per_cycle, &core.operand_b_port_bytes_per_cycle,
        &core.accumulator_port_bytes_per_cycle, &core.metadata_port_bytes_per_cycle,
        &core.register_bank_bytes_per_cycle, &core.selector_bytes_per_cycle}) {
    *rate *= 2;
  }
  for (int* const interval : {&sm.wgmma_interval_cycles, &sm.tcgen05_interval_cycles}) {
    *interval = (*interval + 1) / 2;
  }
}

gpu::GpuSpec with_twice(Resource resource, gpu::GpuSpec gpu) {
  switch (resource) {
    case Resource::kTensor:
      double_tensor_core(gpu.sm);
      break;
    case Resource::kSharedMemory:
      gpu.sm.shared_memory_banks *= 2;
      break;
    case Resource::kSmPort:
      gpu.memory.sm_port_bytes_per_cycle *= 2;
      break;
    case Resource::kL2:
      gpu.memory.l2_bytes_per_cycle *= 2;
      break;
    case Resource::kDram:
      gpu.memory.dram_gb_per_s *= 2;
      break;
    case Resource::kLatency:
      for (int* const latency :
           {&gpu.memory.l2_near_latency_cycles, &gpu.memory.l2_far_latency_cycles,
            &gpu.memory.dram_access_latency_cycles, &gpu.sm.shared_memory_latency_cycles,
            &gpu.sm.barrier_latency_cycles}) {
        *latency = (*latency + 1) / 2;
      }
      break;
    case Resource::kLaunch:
      for (double* const us : {&gpu.launch.launch_us, &gpu.launch.reduction_launch_us,
                               &gpu.launch.stream_us, &gpu.launch.sparse_stream_us}) {
        *us /= 2;
      }
      break;
    case Resource::kSms:
      gpu.sms *= 2;
      break;
    case Resource::kClock:
      break;  // what is asked for
  }
  return gpu;
}

kernels::KernelOverrides named(const kernels::KernelResult& kernel) {
  return {
      kernel.cta_tile,
      kernel.stages,
      kernel.split_k,
      kernel.stream_k ? kernels::Decomposition::kStreamK : kernels::Decomposition::kDataParallel,
      false,
      kernel.cta_group,
      kernel.instruction.family,
      kernel.searched,
      kernel.warp_tile,
      kernel.swizzle,
      kernel.cluster_ctas,
      static_cast<int>(kernel.ctas_per_sm)};
}

}  // namespace

Resource WhatIf::bound_by() const {
  const auto most = std::max_element(speedup.begin(), speedup.begin() + kSingleResources);
  return static_cast<Resource>(std::distance(speedup.begin(), most));
}

WhatIf what_if(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel,
               double clock_mhz, const gpu::GpuSpec& gpu) {
  const auto time_us = [&](const gpu::GpuSpec& spec, double mhz) {
    const gpu::GemmRun run =
        gpu::analytic_gemm(problem, named(kernel), spec, gpu::ClockPolicy::fixed(mhz));
    return static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
  };
  const double now_us = time_us(gpu, clock_mhz);
  WhatIf result;
  for (std::size_t i = 0; i < kResources; ++i) {
    const auto resource = static_cast<Resource>(i);
    const double mhz = resource == Resource::kClock ? 2 * clock_mhz : clock_mhz;
    result.speedup[i] = now_us / time_us(with_twice(resource, gpu), mhz);
  }
  return result;
}

}  // namespace sptc::run
