// SPDX-License-Identifier: Apache-2.0
#include "models/batched/lowered_operand.h"

#include <algorithm>

namespace sptc::batched {

using numerics::DataType;
using numerics::Word;

namespace {

std::array<Word, 256> as_f16(DataType type) {
  std::array<Word, 256> words{};
  for (Word word = 0; word < words.size(); ++word) {
    words[word] = numerics::from_double(numerics::to_double(word, type), DataType::kF16);
  }
  return words;
}

/// The words of both types as f16, worked out once.
const std::array<Word, 256>& f16_words(DataType type) {
  static const std::array<Word, 256> e4m3 = as_f16(DataType::kE4m3);
  static const std::array<Word, 256> e5m2 = as_f16(DataType::kE5m2);
  return type == DataType::kE4m3 ? e4m3 : e5m2;
}

}  // namespace

LoweredOperand::LoweredOperand(DataType type, const mma::StepRules& rules)
    : step_(static_cast<std::size_t>(rules.products_per_step)), f16_(&f16_words(type)) {}

void LoweredOperand::arrange(const Word* words, std::size_t count, std::size_t depth,
                             Word* arranged) const {
  std::fill_n(arranged, depth, Word{0});
  for (std::size_t t = 0; t < count; ++t) {
    arranged[place(t)] = f16(words[t]);
  }
}

void LoweredOperand::convert(const Word* words, std::size_t count, std::size_t depth,
                             Word* converted) const {
  for (std::size_t t = 0; t < count; ++t) {
    converted[t] = f16(words[t]);
  }
  std::fill(converted + count, converted + std::max(count, depth), Word{0});
}

}  // namespace sptc::batched
