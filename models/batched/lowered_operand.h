// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/step_rules.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sptc::batched {

/// An fp8 operand of instructions that run as two f16 steps (models/mma/lowered_fp8.h), as the
/// float kernels take it: f16 words, those of a step side by side.
class LoweredOperand {
 public:
  /// Takes any type and rules; to be used where the rules are lowered. L is a power of two.
  LoweredOperand(numerics::DataType type, const mma::StepRules& rules)
      : step_(static_cast<std::size_t>(rules.products_per_step)) {
    for (numerics::Word word = 0; rules.lowered_fp8 && word < f16_.size(); ++word) {
      f16_[word] = numerics::from_double(numerics::to_double(word, type), numerics::DataType::kF16);
    }
  }

  /// Elements of a row of A that one instruction takes.
  std::size_t depth() const { return 2 * step_; }
  /// Where element `t` of a row stands in the order of the steps: the first step of an instruction
  /// takes those with t mod 4 in {0,1}, the second the others.
  std::size_t place(std::size_t t) const {
    const std::size_t within = t & (depth() - 1);
    return t - within + within % 4 / 2 * step_ + within / 4 * 2 + within % 2;
  }
  numerics::Word f16(numerics::Word word) const { return f16_[word & 0xFFU]; }

  /// `count` elements, each to its place among `depth` (whole instructions); zeros elsewhere.
  void arrange(const numerics::Word* words, std::size_t count, std::size_t depth, numerics::Word* arranged) const {
    std::fill_n(arranged, depth, numerics::Word{0});
    for (std::size_t t = 0; t < count; ++t) {
      arranged[place(t)] = f16(words[t]);
    }
  }
  /// `count` elements where they are; zeros up to `depth`.
  void convert(const numerics::Word* words, std::size_t count, std::size_t depth, numerics::Word* converted) const {
    for (std::size_t t = 0; t < count; ++t) {
      converted[t] = f16(words[t]);
    }
    std::fill(converted + count, converted + std::max(count, depth), numerics::Word{0});
  }

 private:
  std::size_t step_;
  std::array<numerics::Word, 256> f16_{};
};

}  // namespace sptc::batched
