// SPDX-License-Identifier: Apache-2.0
#include "models/batched/lowered_operand.h"

#include "models/numerics/codec.h"

#include <algorithm>

namespace sptc::batched {

using numerics::DataType;
using numerics::Word;

LoweredOperand::LoweredOperand(DataType type, const mma::StepRules& rules)
    : step_(static_cast<std::size_t>(rules.products_per_step)) {
  if (!rules.lowered_fp8) {
    return;
  }
  for (Word word = 0; word < f16_.size(); ++word) {
    f16_[word] = numerics::from_double(numerics::to_double(word, type), DataType::kF16);
  }
}

void LoweredOperand::arrange(const Word* words, std::size_t count, std::size_t depth, Word* arranged) const {
  std::fill_n(arranged, depth, Word{0});
  for (std::size_t t = 0; t < count; ++t) {
    arranged[place(t)] = f16(words[t]);
  }
}

void LoweredOperand::convert(const Word* words, std::size_t count, std::size_t depth, Word* converted) const {
  for (std::size_t t = 0; t < count; ++t) {
    converted[t] = f16(words[t]);
  }
  std::fill(converted + count, converted + std::max(count, depth), Word{0});
}

}  // namespace sptc::batched
