// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::tensor_core {

/// What the blocks of SMs did: counts, and cycles summed over tensor cores.
struct Activity {
  std::int64_t instructions = 0;          ///< issued warp instructions
  std::int64_t mma_instructions = 0;      ///< of those, matrix instructions
  std::int64_t executed_macs = 0;         ///< padding included
  std::int64_t selected_operands = 0;     ///< elements of B handed to multipliers
  std::int64_t selected_by_metadata = 0;  ///< of those, picked by metadata
  std::int64_t operand_a_bytes = 0;       ///< read from the register file, per port
  std::int64_t operand_b_bytes = 0;
  std::int64_t accumulator_bytes = 0;
  std::int64_t metadata_bytes = 0;
  std::int64_t shared_memory_bytes = 0;  ///< loaded by ldmatrix
  double selector_busy_cycles = 0;
  double multiplier_busy_cycles = 0;

  Activity& operator+=(const Activity& other) { return add(other, 1); }
  Activity& operator-=(const Activity& other) { return add(other, -1); }

 private:
  Activity& add(const Activity& other, int sign) {
    instructions += sign * other.instructions;
    mma_instructions += sign * other.mma_instructions;
    executed_macs += sign * other.executed_macs;
    selected_operands += sign * other.selected_operands;
    selected_by_metadata += sign * other.selected_by_metadata;
    operand_a_bytes += sign * other.operand_a_bytes;
    operand_b_bytes += sign * other.operand_b_bytes;
    accumulator_bytes += sign * other.accumulator_bytes;
    metadata_bytes += sign * other.metadata_bytes;
    shared_memory_bytes += sign * other.shared_memory_bytes;
    selector_busy_cycles += sign * other.selector_busy_cycles;
    multiplier_busy_cycles += sign * other.multiplier_busy_cycles;
    return *this;
  }
};

}  // namespace sptc::tensor_core
