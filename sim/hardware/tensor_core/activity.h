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
    for (std::int64_t Activity::*const count :
         {&Activity::instructions, &Activity::mma_instructions, &Activity::executed_macs, &Activity::selected_operands,
          &Activity::selected_by_metadata, &Activity::operand_a_bytes, &Activity::operand_b_bytes,
          &Activity::accumulator_bytes, &Activity::metadata_bytes, &Activity::shared_memory_bytes}) {
      this->*count += sign * other.*count;
    }
    selector_busy_cycles += sign * other.selector_busy_cycles;
    multiplier_busy_cycles += sign * other.multiplier_busy_cycles;
    return *this;
  }
};

}  // namespace sptc::tensor_core
