// SPDX-License-Identifier: Apache-2.0
#include "sim/run/design_cost.h"

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/config/energy.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/kernels/gemm_kernel.h"

#include <algorithm>
#include <bit>

namespace sptc::run {
namespace {

constexpr double kTableSelectorInputs = 4;
constexpr double kMm2 = 1e-6;  // in um2

double adder_bits(const mma::StepRules& rules) {
  constexpr int kSignAndInteger = 3;
  const auto addends = static_cast<unsigned>(rules.products_per_step + 1);
  return rules.fraction_bits + kSignAndInteger + static_cast<int>(std::bit_width(addends - 1));
}

}  // namespace

sparsity::WeightPattern weight_pattern(const std::optional<sparsity::WeightPattern>& asked, numerics::DataType type) {
  return asked.value_or(sparsity::WeightPattern{sparsity::hardware_pattern(type), 0});
}

sparsity::PatternExecution weights_execution(const std::optional<sparsity::WeightPattern>& pattern,
                                             numerics::DataType type, const gpu::GpuSpec& gpu) {
  if (!pattern) {
    const sparsity::Pattern hardware = sparsity::hardware_pattern(type);
    return {hardware, hardware.group, 1, 1, 0};
  }
  return sparsity::pattern_execution(*pattern, type, gpu.sm.tensor_core.selector());
}

sparsity::PatternExecution weights_execution(const std::optional<sparsity::WeightPattern>& pattern,
                                             const mma::MmaInstruction& instruction, const gpu::GpuSpec& gpu) {
  const numerics::DataType type = instruction.a_type;
  const sparsity::PatternExecution usual = weights_execution(pattern, type, gpu);
  if (instruction.sparse_pattern() == usual.instruction) {
    return usual;
  }
  return sparsity::pattern_execution(weight_pattern(pattern, type), type, {});
}

DesignCost design_cost(const gpu::GpuSpec& gpu, numerics::DataType type) {
  DesignCost cost;
  cost.operand_select = gpu.sm.tensor_core.selector_inputs / kTableSelectorInputs;
  const mma::MmaInstruction instruction = kernels::kernel_instruction({{}, 1, type, false}, gpu.kernel_target());
  const auto usual = mma::find_step_rules(gpu.numerics, instruction);
  if (!usual || usual->is_integer() || usual->is_f64() || usual->lowered_fp8) {
    return cost;
  }
  const mma::StepRules rules = gpu.step_rules(instruction);
  cost.align_add = adder_bits(rules) / adder_bits(*usual);
  cost.round = cost.align_add;
  cost.rounds = static_cast<double>(usual->products_per_step) / rules.products_per_step;
  return cost;
}

DesignCost design_cost(const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction) {
  DesignCost cost = design_cost(gpu, instruction.a_type);
  if (instruction.sparse) {
    const sparsity::Pattern hardware = sparsity::hardware_pattern(instruction.a_type);
    const double candidates = instruction.sparse_pattern().candidates();
    cost.operand_select = std::min(cost.operand_select, candidates / hardware.candidates());
  }
  return cost;
}

std::array<double, energy::kAreaConstants.size()> GpuArea::by_constant_mm2() const {
  const energy::TensorCoreArea& core = tensor_core;
  const double cores = kMm2 * tensor_cores;
  return {cores * core.multipliers_um2,
          cores * core.adders_um2,
          cores * core.rounding_um2,
          cores * (core.selector_um2 - core.candidates_um2),
          cores * (core.operand_registers_um2 + core.metadata_um2 + core.candidates_um2),
          register_files_mm2 + shared_memories_mm2 + l2_mm2};
}

GpuArea gpu_area(const gpu::GpuSpec& gpu, const energy::AreaTable& table) {
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  energy::TensorCoreShape shape = config::tensor_core_shape(core);
  shape.adder_scale = design_cost(gpu, shape.type).align_add;
  // One rounder per sum that ends in a cycle.
  shape.rounders_per_unit = core.accumulator_step_bytes > 0
                                ? std::max(1.0, static_cast<double>(core.dot_width_bytes) / core.accumulator_step_bytes)
                                : 1;
  GpuArea area;
  area.tensor_core = energy::tensor_core_area(shape, table);
  const double sram = table.sram_um2_per_byte * kMm2;
  area.tensor_cores = 1.0 * gpu.sms * gpu.sm.sub_partitions;
  area.tensor_cores_mm2 = kMm2 * area.tensor_cores * area.tensor_core.total_um2();
  area.register_files_mm2 = sram * gpu.sms * 4.0 * gpu.sm.registers;
  area.shared_memories_mm2 = sram * gpu.sms * static_cast<double>(gpu.sm.shared_memory.count());
  area.l2_mm2 = sram * static_cast<double>(gpu.memory.l2_capacity.count());
  return area;
}

BoardFigures board_figures(const gpu::GpuSpec& gpu) {
  const double mhz = gpu.boost_clock_mhz;
  const double gb_per_byte_per_cycle = mhz * 1e-3;
  const auto of_sm = static_cast<double>(gpu.sm.shared_memory_bytes_per_cycle().count());
  return {gpu.sms, mhz, gpu.memory.dram_bytes_per_cycle(mhz) * gb_per_byte_per_cycle,
          gpu.memory.l2_bytes_per_cycle * gb_per_byte_per_cycle, gpu.sms * of_sm * gb_per_byte_per_cycle};
}

}  // namespace sptc::run
