// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"

namespace sptc::tensor_core {

/// Widths and latencies of one tensor core. Latencies are whole cycles, widths are bytes per cycle
/// and may be fractions. The values of a GPU and where they come from stand in configs/<name>.json.
struct TensorCoreSpec {
  // Multiplier array: every cycle `dot_units` dot products advance, each over `dot_width_bytes` of
  // operand A.
  int dot_units = 0;
  int dot_width_bytes = 0;
  /// Dot products that advance where the accumulator is f32: fewer on cards that sell the full rate
  /// with f16 accumulators only. Block-scaled operands have the full rate there, too (NVIDIA RTX
  /// Blackwell GPU Architecture whitepaper, 2025: FP4 with FP32 accumulators at four times FP16
  /// with FP16 ones).
  int f32_dot_units = 0;
  int integer_dot_units = 0;  ///< the same of integers; 0: all
  int units(numerics::DataType accumulator, bool block_scaled) const {
    if (accumulator == numerics::DataType::kS32 && integer_dot_units > 0) {
      return integer_dot_units;
    }
    return accumulator == numerics::DataType::kF32 && !block_scaled ? f32_dot_units : dot_units;
  }
  /// Rows of D that the dot units are wired for: an instruction with fewer leaves the rest idle.
  int rows_per_pass = 1;
  /// f64 multiply-accumulates per cycle; 0: no f64 instruction.
  int f64_multipliers = 0;

  // Register-file ports that feed one tensor core [bytes per cycle].
  double operand_a_port_bytes_per_cycle = 0;
  double operand_b_port_bytes_per_cycle = 0;
  double accumulator_port_bytes_per_cycle = 0;
  double metadata_port_bytes_per_cycle = 0;

  // Register file behind the ports: register r lies in bank r mod `register_banks`. Of A and of B
  // the first `reuse_registers` stay at hand for the next instruction of the same warp.
  int register_banks = 2;
  double register_bank_bytes_per_cycle = 256;
  int reuse_registers = 2;

  /// Operand B bytes that the selector hands to the multipliers per cycle.
  double selector_bytes_per_cycle = 0;
  /// Candidates that one multiplier can choose from, M of the widest N:M pattern, and how many
  /// multipliers share them, N.
  int selector_inputs = 0;
  int selector_kept = 2;

  // The mma instruction: rows, columns, and bytes of A per row.
  int mma_m = 16;
  int mma_n = 8;
  int mma_k_bytes = 32;

  // The accumulator; 0: as the numerics of the architecture have it.
  int accumulator_fraction_bits = 0;  ///< F
  int accumulator_step_bytes = 0;     ///< of operand A whose products one rounding step adds

  // Pipeline depth [cycles].
  int operand_fetch_latency_cycles = 0;
  int selector_latency_cycles = 0;
  int multiply_latency_cycles = 0;
  int align_add_latency_cycles = 0;
  int round_latency_cycles = 0;
  int write_back_latency_cycles = 0;
  /// Cycles of the pipeline of wgmma and tcgen05.mma: that of mma.sync without its selector, for
  /// want of a measurement.
  int asynchronous_pipeline_cycles() const {
    return operand_fetch_latency_cycles + multiply_latency_cycles + align_add_latency_cycles + round_latency_cycles +
           write_back_latency_cycles;
  }

  /// Cycles that a warp waits with its next instruction after the tensor core could take one;
  /// another warp need not.
  int same_warp_gap_cycles = 0;
  /// Cycles that the metadata of an instruction take longer where its selector is not that of the
  /// warp's sparse instruction before; other warps read theirs meanwhile.
  int selector_change_cycles = 0;
  /// Cycles that an instruction on elements below a byte keeps the multipliers longer.
  int sub_byte_extra_cycles = 0;
  /// Least cycles from one instruction on integers to the next, whatever its depth; 0: those of its
  /// arithmetic.
  int integer_interval_cycles = 0;
  /// Cycles of a sub-partition that one mma.sp takes whose indices software sorts before it
  /// (mma::may_need_sorting); of microbenchmarks alone. 0: nothing sorts them.
  int metadata_sorting_cycles = 0;

  /// Instructions that may be inside the tensor core at once.
  int instruction_window = 0;

  mma::MmaDesign mma_design() const { return {mma_m, mma_n, mma_k_bytes}; }
  mma::AccumulatorDesign accumulator_design() const { return {accumulator_fraction_bits, accumulator_step_bytes}; }
  sparsity::SelectorWidth selector() const { return {selector_inputs, selector_kept}; }

  bool operator==(const TensorCoreSpec&) const = default;
};

}  // namespace sptc::tensor_core
