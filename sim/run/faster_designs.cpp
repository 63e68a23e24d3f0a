// SPDX-License-Identifier: Apache-2.0
#include "sim/run/doubled_resources.h"

#include "models/base/error.h"
#include "sim/gpu/shipped_design.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/kernel_runner.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

namespace sptc::sim {
namespace {

constexpr std::array kSimulated{Resource::kTensor, Resource::kSharedMemory, Resource::kL2,
                                Resource::kDram,   Resource::kWaits,        Resource::kRates};

/// The kernel that `design` runs for `problem`, to be asked for on another one.
KernelOverrides kernel_on(const ShippedDesign& design, const GemmProblem& problem,
                          const KernelOverrides& overrides, bool values) {
  const GemmKernel kernel = design.kernel(problem, overrides, values).kernel;
  return {kernel.cta_tile, kernel.stages, kernel.split_k, overrides.decomposition};
}

struct Times {
  double us = 0;         ///< 0: not simulated
  double launch_us = 0;  ///< of it
};

/// The times of all launches on `gpu`.
std::vector<Times> times_on(const GpuSpec& gpu, const GpuSpec& base, RunOptions options,
                            const std::vector<DoubledResources::Launch>& launches) {
  const bool values = options.fidelity == Fidelity::kDatapath;
  options.fidelity = Fidelity::kTiming;
  options.sms = GemmSimulator::Sms::kSampled;
  options.extrapolate = true;
  GemmLauncher launcher(gpu, options);
  const ShippedDesign design(base);
  KernelRunner kernels(gpu, options,
                       [&](const GemmProblem& problem, const KernelOverrides& overrides,
                           const std::vector<GemmOperands>* operands) {
                         return launcher(problem, kernel_on(design, problem, overrides, values),
                                         operands);
                       });
  std::vector<Times> all;
  for (const DoubledResources::Launch& launch : launches) {
    Times times;
    try {
      const VariantResult result = kernels.time(launch.operation, launch.sparse);
      times = {result.time_us, result.form.launch_us};
    } catch (const InputError&) {
      // The run itself says what is wrong.
    }
    all.push_back(times);
  }
  return all;
}

std::vector<Times> read_times(SeparateProcess& process, std::size_t count) {
  std::vector<Times> times = rows_of<Times>(process.result());
  ensure(times.size() == count, "a process timed not every launch");
  return times;
}

void double_tensor_core(SmSpec& sm) {
  TensorCoreSpec& core = sm.tensor_core;
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

}  // namespace

GpuSpec doubled(GpuSpec gpu, Resource resource) {
  if (!gpu.fitted_design) {
    gpu.fitted_design = std::make_shared<const GpuSpec>(gpu);
  }
  switch (resource) {
    case Resource::kTensor:
      double_tensor_core(gpu.sm);
      break;
    case Resource::kSharedMemory:
      gpu.sm.shared_memory_bank_bytes_per_cycle *= 2;
      break;
    case Resource::kL2:
      gpu.memory.l2_bytes_per_cycle *= 2;
      break;
    case Resource::kDram:
      gpu.memory.dram_gb_per_s *= 2;
      break;
    case Resource::kWaits:
      for (int* const latency :
           {&gpu.memory.l2_near_latency_cycles, &gpu.memory.l2_far_latency_cycles,
            &gpu.memory.dram_access_latency_cycles, &gpu.sm.shared_memory_latency_cycles,
            &gpu.sm.barrier_latency_cycles}) {
        *latency = (*latency + 1) / 2;
      }
      break;
    case Resource::kLaunch:
      break;
    case Resource::kRates:
      for (const Resource rate :
           {Resource::kTensor, Resource::kSharedMemory, Resource::kL2, Resource::kDram}) {
        gpu = doubled(std::move(gpu), rate);
      }
      gpu.memory.sm_port_bytes_per_cycle *= 2;
      break;
  }
  return gpu;
}

DoubledResources::DoubledResources(const std::vector<Launch>& launches, const GpuSpec& gpu,
                                   const RunOptions& options)
    : launches_(launches.size()),
      base_([&] { return bytes_of(times_on(gpu, gpu, options, launches)); }) {
  for (const Resource resource : kSimulated) {
    changed_.emplace_back(
        resource, SeparateProcess([&] {
          return bytes_of(times_on(doubled(gpu, resource), gpu, options, launches));
        }));
  }
}

std::vector<std::optional<SavedTime>> DoubledResources::results() {
  std::vector<std::optional<SavedTime>> saved(launches_);
  const std::vector<Times> base = read_times(base_, launches_);
  for (std::size_t i = 0; i < launches_; ++i) {
    if (base[i].us > 0) {
      saved[i].emplace();
      (*saved[i])[Resource::kLaunch] = base[i].launch_us / 2 / base[i].us;
    }
  }
  for (auto& [resource, process] : changed_) {
    const std::vector<Times> times = read_times(process, launches_);
    for (std::size_t i = 0; i < launches_; ++i) {
      if (saved[i] && times[i].us > 0) {
        (*saved[i])[resource] = 1 - times[i].us / base[i].us;
      } else {
        saved[i].reset();
      }
    }
  }
  return saved;
}

}  // namespace sptc::sim
