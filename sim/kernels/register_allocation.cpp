// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/register_allocation.h"

#include "models/base/shape.h"

#include <algorithm>

namespace sptc::kernels {
namespace {

// Accumulators of a warp that are on their way from the tensor memory to D, 16 x 128 of them:
// CUTLASS's epilogues of SM100 store in pieces.
constexpr int kFragmentsFromTensorMemory = 16;

}  // namespace

RegisterAllocation::RegisterAllocation(const mma::MmaInstruction& instruction, int fragments_m, int fragments_n)
    : fragments_n_(fragments_n) {
  const mma::OperandRegisters registers = mma::operand_registers(instruction);
  accumulator_registers_ = registers.accumulator;
  a_registers_ = registers.a;
  b_registers_ = registers.b;
  a_buffer_ = fragments_m * a_registers_;
  b_buffer_ = fragments_n * b_registers_;
  if (instruction.sparse) {
    rows_per_metadata_register_ = registers.metadata_selectors;
    metadata_registers_ = registers.metadata;
    metadata_buffer_ = static_cast<int>(base::ceil_div(fragments_m, rows_per_metadata_register_)) * metadata_registers_;
  }
  a_base_ = fragments_m * fragments_n * accumulator_registers_;
  b_base_ = a_base_ + 2 * a_buffer_;
  metadata_base_ = b_base_ + 2 * b_buffer_;
  end_ = metadata_base_ + 2 * metadata_buffer_;
}

RegisterAllocation::RegisterAllocation(const GemmKernel& kernel)
    : RegisterAllocation(
          kernel.instruction, kernel.tensor_memory() ? 1 : kernel.fragments_m(),
          kernel.tensor_memory() ? std::min(kernel.fragments_n(), kFragmentsFromTensorMemory) : kernel.fragments_n()) {
  if (!kernel.staged_in_registers()) {
    return;
  }
  constexpr std::int64_t kInstructionBytes = kStagedPerInstruction * std::int64_t{4} * 32;
  for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kMetadata, isa::Operand::kB}) {
    const auto instructions =
        static_cast<int>(base::ceil_div(kernel.stage_bytes(operand), kernel.warps() * kInstructionBytes));
    staged_[static_cast<std::size_t>(operand)] = {end_, instructions * kStagedPerInstruction};
    end_ += instructions * kStagedPerInstruction;
  }
}

isa::RegisterRange RegisterAllocation::metadata(int buffer, int row) const {
  if (metadata_buffer_ == 0) {
    return {};
  }
  return {metadata_base_ + buffer * metadata_buffer_ + row / rows_per_metadata_register_ * metadata_registers_,
          metadata_registers_};
}

}  // namespace sptc::kernels
