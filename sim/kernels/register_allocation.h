// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/kernels/gemm_kernel.h"

#include <array>
#include <cstddef>

namespace sptc::kernels {

/// Registers of one thread of a GEMM kernel: accumulators of the warp tile, or the piece of them
/// that a warp takes from the tensor memory at once, two buffers of operand fragments, so that the
/// loads of one k-step run under the matrix instructions of the step before, and, where tiles pass
/// the registers, the thread's part of a k-tile.
class RegisterAllocation {
 public:
  /// ld.global and st.shared move 16 bytes per lane.
  static constexpr int kStagedPerInstruction = 4;
  /// ldmatrix.x4 reads as many registers.
  static constexpr int kLoadedPerInstruction = 4;

  explicit RegisterAllocation(const GemmKernel& kernel);
  /// Allocates without staged tiles.
  RegisterAllocation(const mma::MmaInstruction& instruction, int fragments_m, int fragments_n);

  isa::RegisterRange accumulator(int row, int col) const {
    return {(row * fragments_n_ + col) * accumulator_registers_ % a_base_, accumulator_registers_};
  }
  isa::RegisterRange a(int buffer, int row) const {
    return {a_base_ + buffer * a_buffer_ + row * a_registers_, a_registers_};
  }
  isa::RegisterRange b(int buffer, int col) const {
    return {b_base_ + buffer * b_buffer_ + col * b_registers_, b_registers_};
  }
  /// Metadata registers of fragment row `row`; several fragment rows may share one.
  isa::RegisterRange metadata(int buffer, int row) const;
  /// Where the thread's part of the next k-tile of an operand waits; whole instructions.
  isa::RegisterRange staged(isa::Operand operand) const { return staged_[static_cast<std::size_t>(operand)]; }
  /// Fragment rows that share a metadata register, each with a selector of its own.
  int rows_per_metadata_register() const { return rows_per_metadata_register_; }

  isa::RegisterRange accumulators() const { return {0, a_base_}; }
  int accumulator_count() const { return a_base_; }

  /// Registers of accumulators, fragments and staged tiles, without addresses and loop counters.
  int count() const { return end_; }

 private:
  int fragments_n_;
  int accumulator_registers_;
  int a_registers_;
  int b_registers_;
  int rows_per_metadata_register_ = 1;
  int metadata_registers_ = 0;  ///< of one instruction
  int a_base_ = 0, b_base_ = 0, metadata_base_ = 0, end_ = 0;
  std::array<isa::RegisterRange, isa::kOperandCount> staged_{};
  int a_buffer_ = 0, b_buffer_ = 0, metadata_buffer_ = 0;
};

}  // namespace sptc::kernels
