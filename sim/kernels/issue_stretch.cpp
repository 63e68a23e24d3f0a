// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/issue_stretch.h"

#include "models/mma/stages.h"
#include "models/mma/step_rules.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/hardware/tensor_core/register_banks.h"
#include "sim/kernels/register_allocation.h"

#include <algorithm>

namespace sptc::kernels {
namespace {

/// Bytes of operands that the dot units take in a cycle.
double peak_bytes(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  return double{1} * core.units(instruction.accumulator, instruction.scales.has_value()) *
         core.dot_width_bytes;
}

/// How much longer the selector takes than the multipliers.
double selector_stretch(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  return peak_bytes(kernel, core) / core.selector_bytes_per_cycle;
}

/// On the fragment of A in the first row of a warp tile, and that of B in column `col` of two.
isa::WarpInstruction issued_by(const GemmKernel& kernel, int col) {
  const RegisterAllocation registers(kernel.instruction, 1, 2);
  isa::WarpInstruction issued;
  issued.a = registers.a(0, 0);
  issued.b = registers.b(0, col);
  issued.c = registers.accumulator(0, col);
  issued.metadata = registers.metadata(0, 0);
  return issued;
}

/// Cycles in which the busiest register bank reads an instruction at the least: behind one of the
/// same warp on the same fragment of A. How often another warp comes between only the model knows.
double bank_cycles(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  tensor_core::RegisterBanks banks(core);
  const isa::WarpInstruction before = issued_by(kernel, 0);
  banks.keep(banks.demand(0, before));
  const isa::WarpInstruction issued = issued_by(kernel, 1);
  return static_cast<double>(banks.demand(0, issued).most_of_a_bank()) *
         static_cast<double>(isa::kRegisterBytes) / core.register_bank_bytes_per_cycle;
}

/// Cycles of an instruction of `kernel` that its products need at the peak rate.
double peak_cycles(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  const double operands =
      static_cast<double>(instruction.macs()) * numerics::storage_bits(instruction.a_type) / 8;
  return operands / peak_bytes(kernel, core);
}

}  // namespace

double issue_stretch(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core,
                     std::string_view numerics) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  if (kernel.executed.is_asynchronous() || !mma::find_step_rules(numerics, instruction)) {
    return 1;
  }
  const mma::StepContext context = tensor_core::timed_context(core, numerics, instruction);
  const double interval = std::max(tensor_core::issue_interval(core, context, issued_by(kernel, 0)),
                                   bank_cycles(kernel, core));
  return std::max({1.0, selector_stretch(kernel, core), interval / peak_cycles(kernel, core)});
}

}  // namespace sptc::kernels
