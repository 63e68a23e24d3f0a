// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"
#include "models/mma/dot_step.h"
#include "models/mma/step_rules.h"
#include "models/sparsity/compress.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_overrides.h"
#include "tests/support/mma_operands.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::timing {

struct RandomGemm {
  kernels::GemmProblem problem;
  kernels::KernelOverrides overrides;
};

inline std::string describe(const kernels::GemmProblem& problem) {
  return std::to_string(problem.batch) + " x " + std::to_string(problem.shape.m) + "x" +
         std::to_string(problem.shape.n) + "x" + std::to_string(problem.shape.k) + " " +
         std::string(numerics::name(problem.dtype)) + (problem.sparse ? " sparse" : " dense");
}

/// Operands with exponents around zero and a few specials; where sparse, A has kept elements and
/// metadata at random.
inline std::vector<kernels::GemmOperands> random_gemm_operands(const kernels::GemmProblem& problem,
                                                               std::uint64_t seed) {
  const auto fill = [&](std::size_t rows, std::size_t cols, const base::RandomStream& random) {
    base::Matrix<numerics::Word> matrix(rows, cols);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix.data()[i] = mma::random_word(problem.dtype, mma::WordKind::kNarrow, random.bits(i));
    }
    return matrix;
  };
  const auto m = static_cast<std::size_t>(problem.shape.m);
  const auto n = static_cast<std::size_t>(problem.shape.n);
  const auto k = static_cast<std::size_t>(problem.shape.k);
  std::vector<kernels::GemmOperands> all;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    const base::RandomStream random = base::RandomStream(seed).fork("batch " + std::to_string(batch));
    kernels::GemmOperands operands;
    operands.b_columns = fill(n, k, random.fork("b"));
    if (!problem.sparse) {
      operands.a = fill(m, k, random.fork("a"));
    } else {
      const sparsity::Pattern pattern = sparsity::hardware_pattern(problem.dtype);
      const std::size_t groups = k / static_cast<std::size_t>(pattern.group);
      sparsity::CompressedMatrix& a = operands.compressed_a;
      a.type = problem.dtype;
      a.pattern = pattern;
      a.logical_k = k;
      a.values = fill(m, groups * static_cast<std::size_t>(pattern.kept), random.fork("a"));
      a.nibbles = base::Matrix<std::uint8_t>(m, groups);
      constexpr std::array<std::uint8_t, 6> kPairs{0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
      const base::RandomStream metadata = random.fork("metadata");
      for (std::size_t i = 0; i < a.nibbles.size(); ++i) {
        a.nibbles.data()[i] =
            pattern.candidates() == 2 ? (metadata.below(i, 2) == 0 ? 0b0100 : 0b1110) : kPairs[metadata.below(i, 6)];
      }
    }
    all.push_back(std::move(operands));
  }
  return all;
}

/// Element (row, col) of D by the plain arithmetic.
inline numerics::Word plain_element(const kernels::GemmProblem& problem, const kernels::GemmOperands& operands,
                                    std::size_t row, std::size_t col) {
  const mma::MmaInstruction instruction = mma::gemm_instruction(problem.dtype, problem.sparse);
  const mma::StepRules rules = mma::step_rules("ampere", instruction);
  return problem.sparse ? mma::sparse_dot(operands.compressed_a.values.row(row), operands.compressed_a.nibbles.row(row),
                                          operands.b_columns.row(col), 0, instruction, rules)
                        : mma::dense_dot(operands.a.row(row), operands.b_columns.row(col), 0, instruction, rules);
}

}  // namespace sptc::timing
