// SPDX-License-Identifier: Apache-2.0
#include "sim/run/faster_design.h"

#include <cmath>
#include <memory>

namespace sptc::sim {
namespace {

// What has been rounded up to whole units is whole but for the last bits.
constexpr double kLastBits = 1e-9;

int whole(double units) {
  return static_cast<int>(std::ceil(units * (1 - kLastBits)));
}

void speed_up_tensor_core(SmSpec& sm, double speed) {
  TensorCoreSpec& core = sm.tensor_core;
  for (int* const rate : {&core.dot_units, &core.f32_dot_units, &core.f64_multipliers}) {
    *rate = whole(*rate * speed);
  }
  for (double* const rate :
       {&core.operand_a_port_bytes_per_cycle, &core.operand_b_port_bytes_per_cycle,
        &core.accumulator_port_bytes_per_cycle, &core.metadata_port_bytes_per_cycle,
        &core.register_bank_bytes_per_cycle, &core.selector_bytes_per_cycle}) {
    *rate *= speed;
  }
  for (int* const interval : {&sm.wgmma_interval_cycles, &sm.tcgen05_interval_cycles}) {
    *interval = whole(*interval / speed);
  }
}

}  // namespace

Speeds in_whole_units(const GpuSpec& gpu, Speeds speeds) {
  // The units with f32 accumulators divide the others.
  const int units = gpu.sm.tensor_core.f32_dot_units;
  speeds[Resource::kTensor] = double{1} * whole(units * speeds[Resource::kTensor]) / units;
  const int banks = gpu.sm.shared_memory_banks;
  speeds[Resource::kSharedMemory] =
      double{1} * whole(banks * speeds[Resource::kSharedMemory]) / banks;
  return speeds;
}

GpuSpec faster(GpuSpec gpu, const Speeds& speeds) {
  if (!gpu.fitted_design) {
    gpu.fitted_design = std::make_shared<const GpuSpec>(gpu);
  }
  speed_up_tensor_core(gpu.sm, speeds[Resource::kTensor]);
  gpu.sm.tensor_core.register_bank_bytes_per_cycle *= speeds[Resource::kRegisterBanks];
  gpu.sm.shared_memory_banks = whole(gpu.sm.shared_memory_banks * speeds[Resource::kSharedMemory]);
  gpu.memory.sm_port_bytes_per_cycle *= speeds[Resource::kSmPort];
  gpu.memory.l2_bytes_per_cycle *= speeds[Resource::kL2];
  gpu.memory.dram_gb_per_s *= speeds[Resource::kDram];
  for (int* const latency :
       {&gpu.memory.l2_near_latency_cycles, &gpu.memory.l2_far_latency_cycles,
        &gpu.memory.dram_access_latency_cycles, &gpu.sm.shared_memory_latency_cycles,
        &gpu.sm.barrier_latency_cycles}) {
    *latency = whole(*latency / speeds[Resource::kWaits]);
  }
  return gpu;
}

Speeds all_rates(double speed) {
  Speeds speeds;
  for (const Resource rate : kRates) {
    speeds[rate] = speed;
  }
  return speeds;
}

RetunedDesign retuned_design(double times_as_fast, double us, const KernelResult& kernel) {
  return {times_as_fast, us, kernel.cta_tile, kernel.stages, kernel.split_k};
}

void keep_better(const RetunedDesign& next, double dense_us, std::optional<RetunedDesign>& known) {
  if (!known || (dense_us / known->us < threshold::kAsGoodAsTwo && next.us < known->us)) {
    known = next;
  }
}

Speeds twice(Resource resource) {
  if (resource == Resource::kRates) {
    return all_rates(2);
  }
  Speeds speeds;
  speeds[resource] = 2;
  return speeds;
}

}  // namespace sptc::sim
