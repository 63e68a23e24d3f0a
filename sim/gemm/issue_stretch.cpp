// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/issue_stretch.h"

#include "models/mma/step_rules.h"
#include "sim/gemm/register_allocation.h"
#include "sim/tensor_core/issue_interval.h"

#include <algorithm>

namespace sptc::sim {
namespace {

/// Bytes of operands that the dot units take in a cycle.
double peak_bytes(const GemmKernel& kernel, const TensorCoreSpec& core) {
  const bool to_f32 = kernel.instruction.accumulator == numerics::DataType::kF32;
  const int units = to_f32 ? std::min(core.dot_units, core.f32_dot_units) : core.dot_units;
  return double{1} * units * core.dot_width_bytes;
}

}  // namespace

double selector_stretch(const GemmKernel& kernel, const TensorCoreSpec& core) {
  return kernel.executed.is_asynchronous()
             ? 1
             : std::max(1.0, peak_bytes(kernel, core) / core.selector_bytes_per_cycle);
}

double issue_stretch(const GemmKernel& kernel, const TensorCoreSpec& core,
                     std::string_view numerics) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  const auto known = mma::find_step_rules(numerics, instruction);
  if (kernel.executed.is_asynchronous() || !known) {
    return 1;
  }
  const mma::StepRules rules =
      mma::with_accumulator(*known, core.accumulator_design(), instruction);
  mma::StepContext context =
      mma::StepContext::timing_only(instruction, step_bytes(rules, instruction));
  context.operand_bits = rules.lowered_fp8 ? 16 : context.operand_bits;
  const RegisterAllocation registers(instruction, 1, 1);
  WarpInstruction issued;
  issued.a = registers.a(0, 0);
  issued.b = registers.b(0, 0);
  issued.c = registers.accumulator(0, 0);
  issued.metadata = registers.metadata(0, 0);
  const double operands =
      static_cast<double>(instruction.macs()) * numerics::storage_bits(instruction.a_type) / 8;
  const double alone = operands / peak_bytes(kernel, core);
  return std::max(issue_interval(core, context, issued) / alone, selector_stretch(kernel, core));
}

}  // namespace sptc::sim
