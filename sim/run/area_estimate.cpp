// SPDX-License-Identifier: Apache-2.0
#include "sim/run/area_estimate.h"

#include "sim/config/energy.h"
#include "sim/run/run_options.h"

namespace sptc::run {

AreaEstimate estimate_area(const config::Architecture& architecture) {
  const config::LoadedEnergy energy = energies_of(architecture);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const energy::TensorCoreShape shape = config::tensor_core_shape(gpu.sm.tensor_core);
  AreaEstimate estimate;
  estimate.arch = gpu.name;
  estimate.node_nm = energy.config.node_nm;
  estimate.selector_kept = gpu.sm.tensor_core.selector_kept;
  estimate.selector_inputs = gpu.sm.tensor_core.selector_inputs;
  estimate.sms = gpu.sms;
  estimate.tensor_cores = std::int64_t{1} * gpu.sms * gpu.sm.sub_partitions;
  estimate.multipliers = std::int64_t{1} * shape.dot_units * shape.products_per_unit;
  estimate.usual = gpu_area(gpu, energy.config.area);
  estimate.low = gpu_area(gpu, energy.area_at(&config::EnergyParameter::low));
  estimate.high = gpu_area(gpu, energy.area_at(&config::EnergyParameter::high));
  return estimate;
}

}  // namespace sptc::run
