// SPDX-License-Identifier: Apache-2.0
#include "models/mma/lowered_fp8.h"

#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"

#include <algorithm>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

Word to_f16(Word fp8, DataType type) {
  return numerics::from_double(numerics::to_double(fp8, type), DataType::kF16);
}

}  // namespace

// The sum in double is exact enough to be rounded once more: double has more than twice the bits of
// f32, plus two (Figueroa 1995).
Word ieee_add(Word x, Word y, DataType type) {
  return numerics::from_double(numerics::to_double(x, type) + numerics::to_double(y, type), type);
}

MmaInstruction lowered_instruction(const MmaInstruction& instruction) {
  MmaInstruction step = instruction;
  step.a_type = DataType::kF16;
  step.b_type = DataType::kF16;
  return step;
}

LoweredHalf lowered_half(std::span<const Word> a, std::span<const Word> b, std::size_t half,
                         const MmaInstruction& instruction) {
  LoweredHalf result;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if ((k % 4) / 2 == half) {
      result.positions.push_back(k);
      result.a.push_back(to_f16(a[k], instruction.a_type));
      result.b.push_back(to_f16(b[k], instruction.b_type));
    }
  }
  return result;
}

Word lowered_fp8_dot(std::span<const Word> a_row, std::span<const Word> b_column, Word c,
                     const MmaInstruction& instruction, const StepRules& rules) {
  const MmaInstruction step = lowered_instruction(instruction);
  const std::size_t depth = 2 * static_cast<std::size_t>(rules.products_per_step);
  for (std::size_t k = 0; k < a_row.size(); k += depth) {
    const std::size_t count = std::min(depth, a_row.size() - k);
    Word partial = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      const LoweredHalf products = lowered_half(a_row.subspan(k, count), b_column.subspan(k, count), half, instruction);
      partial = trace_step(products.a, products.b, partial, step, rules).result;
    }
    c = ieee_add(partial, c, rules.output);
  }
  return c;
}

}  // namespace sptc::mma
