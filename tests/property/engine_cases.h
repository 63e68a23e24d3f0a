// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/mma/dot_step.h"
#include "models/sparsity/compress.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::batched {

/// One arithmetic to compare the engine with the plain implementation in.
struct EngineCase {
  std::string name;
  mma::MmaInstruction instruction;
  mma::StepRules rules;
};

/// Every form of the table: L, F, rounding, floor and output of each generation, each operand type,
/// dense and sparse.
std::vector<EngineCase> engine_cases();

/// How the words of an operand are drawn.
enum class WordStyle {
  kNormal,      ///< N(0,1), as in networks
  kAnyBits,     ///< uniform bit patterns: NaN, infinity, subnormals
  kNearNormal,  ///< N(0,1) with a few arbitrary bit patterns
  kCancelling,  ///< few magnitudes, both signs: sums cancel
  kWideSpread,  ///< finite, exponents over the whole format
  kLargest,     ///< all significands ones: the largest sums
  kMostlyZero,  ///< zeros of both signs and a few values
  kSubnormal,   ///< subnormals and zeros
};
inline constexpr int kWordStyles = 8;

base::Matrix<numerics::Word> random_words(std::size_t rows, std::size_t cols, numerics::DataType type, WordStyle style,
                                          base::RandomStream random);

/// Operands that own their matrices.
struct RandomGemm {
  RandomGemm(const EngineCase& engine_case, std::size_t m, std::size_t n, std::size_t k, WordStyle a_style,
             WordStyle b_style, WordStyle c_style, std::uint64_t seed);
  GemmOperands operands() const;
  /// The element as the plain implementation computes it.
  numerics::Word expected(std::size_t row, std::size_t column) const;

  EngineCase which;
  base::Matrix<numerics::Word> a;
  sparsity::CompressedMatrix compressed;
  base::Matrix<numerics::Word> b_columns;
  base::Matrix<numerics::Word> c;
};

}  // namespace sptc::batched
