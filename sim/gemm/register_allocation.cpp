// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/register_allocation.h"

#include "models/base/shape.h"
#include "models/mma/fragment_layout.h"
#include "models/sparsity/metadata_register.h"

namespace sptc::sim {
namespace {

/// Registers of a lane that a fragment of `elements` fills, the last one perhaps in part: of A and
/// B of m8n8k4 half a register would do, and two quarters of the warp hold the same.
int registers_for(int elements, numerics::DataType type) {
  constexpr int kRegisterBits = 32;
  return static_cast<int>(
      ceil_div(elements * numerics::storage_bits(type), mma::kWarpLanes * kRegisterBits));
}

}  // namespace

RegisterAllocation::RegisterAllocation(const mma::MmaInstruction& instruction, int fragments_m,
                                       int fragments_n)
    : fragments_n_(fragments_n) {
  const mma::MmaShape& shape = instruction.shape;
  accumulator_registers_ = registers_for(shape.m * shape.n, instruction.accumulator);
  a_registers_ = registers_for(shape.m * instruction.compressed_k(), instruction.a_type);
  b_registers_ = registers_for(shape.k * shape.n, instruction.b_type);
  a_buffer_ = fragments_m * a_registers_;
  b_buffer_ = fragments_n * b_registers_;
  if (instruction.sparse) {
    rows_per_metadata_register_ =
        sparsity::metadata_register_format(instruction.a_type, instruction.shape.k).selectors();
    metadata_buffer_ = static_cast<int>(ceil_div(fragments_m, rows_per_metadata_register_));
  }
  a_base_ = fragments_m * fragments_n * accumulator_registers_;
  b_base_ = a_base_ + 2 * a_buffer_;
  metadata_base_ = b_base_ + 2 * b_buffer_;
  end_ = metadata_base_ + 2 * metadata_buffer_;
}

RegisterRange RegisterAllocation::accumulator(int row, int col) const {
  return {(row * fragments_n_ + col) * accumulator_registers_, accumulator_registers_};
}

RegisterRange RegisterAllocation::a(int buffer, int row) const {
  return {a_base_ + buffer * a_buffer_ + row * a_registers_, a_registers_};
}

RegisterRange RegisterAllocation::b(int buffer, int col) const {
  return {b_base_ + buffer * b_buffer_ + col * b_registers_, b_registers_};
}

RegisterRange RegisterAllocation::metadata(int buffer, int row) const {
  if (metadata_buffer_ == 0) {
    return {};
  }
  return {metadata_base_ + buffer * metadata_buffer_ + row / rows_per_metadata_register_, 1};
}

}  // namespace sptc::sim
