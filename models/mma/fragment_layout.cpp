// SPDX-License-Identifier: Apache-2.0
#include "models/mma/fragment_layout.h"

#include "models/base/error.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"

#include <string>

namespace sptc::mma {

FragmentSlot FragmentLayout::slot(const FragmentCoordinate& where) const {
  const int per_register = elements_per_register();
  if (operand == FragmentOperand::kAccumulator) {
    const int value = 2 * (where.row >> 3) + (where.col & 1);
    return {4 * (where.row & 7) + (where.col >> 1), value / per_register, value % per_register};
  }
  const bool is_a = operand == FragmentOperand::kA;
  const int along_k = is_a ? where.col : where.row;
  const int quad = is_a ? where.row & 7 : where.col;
  const int block = along_k / (4 * per_register);
  const int lane_of_quad = along_k / per_register % 4;
  const int reg = is_a ? 2 * block + (where.row >> 3) : block;
  return {4 * quad + lane_of_quad, reg, along_k % per_register};
}

FragmentLayout fragment_layout(const MmaInstruction& instruction, FragmentOperand operand) {
  const MmaShape& shape = instruction.shape;
  FragmentLayout layout;
  switch (operand) {
    case FragmentOperand::kA:
      layout = {operand, shape.m, instruction.compressed_k(), numerics::storage_bits(instruction.a_type)};
      break;
    case FragmentOperand::kB:
      layout = {operand, shape.k, shape.n, numerics::storage_bits(instruction.b_type)};
      break;
    case FragmentOperand::kAccumulator:
      layout = {operand, shape.m, shape.n, numerics::storage_bits(instruction.accumulator)};
      break;
  }
  const bool known_tile = shape.m == 16 && shape.n == 8;
  // A and B are dealt out in blocks of four registers' worth of k, one register to each lane of a
  // quad.
  const int k_block = 4 * layout.elements_per_register();
  const int k = operand == FragmentOperand::kA ? layout.cols : layout.rows;
  const bool whole = operand == FragmentOperand::kAccumulator ? layout.element_bits >= 16 : k > 0 && k % k_block == 0;
  if (!known_tile || !whole) {
    throw base::InputError("no fragment layout for " + shape.name() + " with elements of " +
                           std::to_string(layout.element_bits) +
                           " bits: allowed is m16n8k* with k of A and B a multiple of " + std::to_string(k_block) +
                           " and accumulators of 16 or 32 bits");
  }
  return layout;
}

}  // namespace sptc::mma
