// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/warpgroup_operands.h"

#include "models/numerics/data_type.h"

#include <cstdint>

namespace sptc::sm {
namespace {

std::int64_t storage_bytes(std::int64_t elements, numerics::DataType type) {
  return elements * numerics::storage_bits(type) / 8;
}

}  // namespace

base::Bytes warpgroup_operand_bytes(const mma::MmaInstruction& instruction, bool a_in_registers, int cta_group) {
  const mma::MmaShape& shape = instruction.shape;
  const std::int64_t a = storage_bytes(std::int64_t{shape.m} * instruction.compressed_k(), instruction.a_type);
  const std::int64_t b = storage_bytes(std::int64_t{shape.n} * shape.k, instruction.b_type);
  return base::Bytes(b / cta_group + (a_in_registers ? 0 : a));
}

}  // namespace sptc::sm
