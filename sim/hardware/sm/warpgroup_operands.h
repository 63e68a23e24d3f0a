// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"

#include <cstdint>

namespace sptc::sm {

/// Bytes that an asynchronous `instruction` (wgmma, tcgen05.mma) reads from the shared memory of one SM. Of a
/// `cta_group` of two SMs each reads its part of B for both.
inline base::Bytes warpgroup_operand_bytes(const mma::MmaInstruction& instruction, bool a_in_registers,
                                           int cta_group = 1) {
  const auto bytes = [](std::int64_t elements, numerics::DataType type) {
    return elements * numerics::storage_bits(type) / 8;
  };
  const std::int64_t a = bytes(std::int64_t{instruction.shape.m} * instruction.compressed_k(), instruction.a_type);
  return base::Bytes(bytes(instruction.b_elements(), instruction.b_type) / cta_group + (a_in_registers ? 0 : a));
}

}  // namespace sptc::sm
