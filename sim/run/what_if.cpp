// SPDX-License-Identifier: Apache-2.0
#include "sim/run/what_if.h"

#include "models/base/shape.h"
#include "sim/gpu/analytic_gemm.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace sptc::run {
namespace {

void double_tensor_core(sm::SmSpec& sm) {
  tensor_core::TensorCoreSpec& core = sm.tensor_core;
  for (int* const rate : {&core.dot_units, &core.f32_dot_units, &core.integer_dot_units, &core.f64_multipliers}) {
    *rate *= 2;
  }
  for (double* const rate : {&core.operand_a_port_bytes_per_cycle, &core.operand_b_port_bytes_per_cycle,
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
      for (int* const latency : {&gpu.memory.l2_near_latency_cycles, &gpu.memory.l2_far_latency_cycles,
                                 &gpu.memory.dram_access_latency_cycles, &gpu.sm.shared_memory_latency_cycles,
                                 &gpu.sm.barrier_latency_cycles}) {
        *latency = (*latency + 1) / 2;
      }
      break;
    case Resource::kLaunch:
      for (double* const us : {&gpu.launch.launch_us, &gpu.launch.reduction_launch_us, &gpu.launch.stream_us,
                               &gpu.launch.sparse_stream_us}) {
        *us /= 2;
      }
      break;
    case Resource::kSms:
      gpu.sms *= 2;
      break;
    case Resource::kGrid:   // of the problem
    case Resource::kClock:  // what is asked for
      break;
  }
  return gpu;
}

kernels::KernelOverrides named(const kernels::KernelResult& kernel) {
  return {kernel.cta_tile, kernel.stages, kernel.split_k,
          kernel.stream_k ? kernels::Decomposition::kStreamK : kernels::Decomposition::kDataParallel, false,
          kernel.cta_group, kernel.instruction.family,
          // A library has kernels of warpgroups of one tile in several clusters, and turned ones.
          kernel.searched || kernel.instruction.family == mma::MmaFamily::kWgmma, kernel.warp_tile, kernel.swizzle,
          kernel.cluster_ctas, static_cast<int>(kernel.ctas_per_sm), kernel.transposed};
}

gpu::GemmRun closed_form(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel, double clock_mhz,
                         const gpu::GpuSpec& gpu) {
  return gpu::analytic_gemm(problem, named(kernel), gpu, gpu::ClockPolicy::fixed(clock_mhz));
}

double in_sms_us(const gpu::GemmRun& run) {
  return static_cast<double>(run.cycles) / run.clock_mhz;
}

/// How many launches of `kernel`, as batches of one, leave at most 2 % of the places for CTAs on
/// the SMs without one in their last round; 1 where a launch does so itself.
std::int64_t launches_that_fill(const kernels::KernelResult& kernel, const gpu::GpuSpec& gpu) {
  constexpr double kMostEmpty = 0.02;
  if (kernel.stream_k && kernel.waves >= 1 && kernel.ctas >= gpu.sms) {
    return 1;  // each CTA has as many k-tiles
  }
  const std::int64_t units = kernel.persistent ? kernel.output_tiles * kernel.split_k : kernel.ctas;
  const std::int64_t places = gpu.sms * std::max<std::int64_t>(1, kernel.ctas_per_sm);
  for (std::int64_t launches = 1; launches < places; ++launches) {
    const std::int64_t all = base::round_up(launches * units, places);
    if (static_cast<double>(all - launches * units) <= kMostEmpty * static_cast<double>(all)) {
      return launches;
    }
  }
  return places;
}

/// The gain of CTAs that are spread evenly over all SMs, at most 2 as of every other resource.
double gain_of_full_grid(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel,
                         const gpu::GemmRun& now, const gpu::GpuSpec& gpu) {
  const std::int64_t launches = launches_that_fill(kernel, gpu);
  if (launches == 1) {
    return 1;
  }
  kernels::GemmProblem many = problem;
  many.batch *= launches;
  const double filled_us = in_sms_us(closed_form(many, kernel, now.clock_mhz, gpu)) / static_cast<double>(launches);
  return std::clamp((in_sms_us(now) + now.launch_us) / (filled_us + now.launch_us), 1.0, 2.0);
}

}  // namespace

Resource WhatIf::bound_by() const {
  const auto most = std::max_element(speedup.begin(), speedup.begin() + kSingleResources);
  return static_cast<Resource>(std::distance(speedup.begin(), most));
}

double closed_form_us(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel, double clock_mhz,
                      const gpu::GpuSpec& gpu) {
  const gpu::GemmRun run = closed_form(problem, kernel, clock_mhz, gpu);
  return in_sms_us(run) + run.launch_us;
}

WhatIf what_if(const kernels::GemmProblem& problem, const kernels::KernelResult& kernel, double clock_mhz,
               const gpu::GpuSpec& gpu) {
  const auto time_us = [&](const gpu::GpuSpec& spec, double mhz) { return closed_form_us(problem, kernel, mhz, spec); };
  const gpu::GemmRun now = closed_form(problem, kernel, clock_mhz, gpu);
  const double now_us = in_sms_us(now) + now.launch_us;
  WhatIf result;
  for (std::size_t i = 0; i < kResources; ++i) {
    const auto resource = static_cast<Resource>(i);
    const double mhz = resource == Resource::kClock ? 2 * clock_mhz : clock_mhz;
    result.speedup[i] = resource == Resource::kGrid ? gain_of_full_grid(problem, kernel, now, gpu)
                                                    : now_us / time_us(with_twice(resource, gpu), mhz);
  }
  return result;
}

}  // namespace sptc::run
