// SPDX-License-Identifier: Apache-2.0
#include "models/batched/gemm.h"

#include "models/base/error.h"
#include "models/batched/fallback.h"
#include "models/batched/float_gemm.h"
#include "models/batched/half.h"
#include "models/batched/integer_gemm.h"
#include "models/batched/parallel.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"

#include <algorithm>
#include <span>
#include <string>

namespace sptc::batched {
namespace {

using numerics::DataType;
using numerics::Word;

struct Extents {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t depth = 0;  // elements of A as stored
};

std::string size_of(std::size_t rows, std::size_t cols) {
  return "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]";
}

Extents checked_extents(const mma::MmaInstruction& instruction, const GemmOperands& operands,
                        const EngineOptions& options) {
  if (instruction.sparse ? operands.compressed_a == nullptr : !operands.a) {
    throw base::InputError(std::string("GEMM operand A is missing: ") + instruction.ptx_name() +
                           (instruction.sparse ? " takes a compressed matrix" : " takes a dense matrix"));
  }
  if (!operands.b_columns) {
    throw base::InputError("GEMM operand B is missing");
  }
  if (options.threads < 1 || options.split_k < 1) {
    throw base::InputError("GEMM options: threads " + std::to_string(options.threads) + " and split_k " +
                           std::to_string(options.split_k) + " must be at least 1");
  }
  Extents extents;
  std::size_t k = 0;
  if (instruction.sparse) {
    const sparsity::CompressedMatrix& a = *operands.compressed_a;
    if (a.type != instruction.a_type) {
      throw base::InputError("GEMM operand A is compressed as " + std::string(numerics::name(a.type)) + ", but " +
                             instruction.ptx_name() + " takes " + std::string(numerics::name(instruction.a_type)));
    }
    const sparsity::Pattern pattern = sparsity::hardware_pattern(a.type);
    const auto groups = a.nibbles.cols();
    if (a.nibbles.rows() != a.rows() || a.compressed_k() != groups * static_cast<std::size_t>(pattern.kept) ||
        a.logical_k != groups * static_cast<std::size_t>(pattern.group)) {
      throw base::InputError("GEMM operand A: values " + size_of(a.rows(), a.compressed_k()) + " and metadata " +
                             size_of(a.nibbles.rows(), groups) + " do not belong together");
    }
    extents = {a.rows(), 0, a.compressed_k()};
    k = a.logical_k;
  } else {
    extents = {operands.a.rows(), 0, operands.a.cols()};
    k = operands.a.cols();
  }
  extents.n = operands.b_columns.rows();
  if (operands.b_columns.cols() != k) {
    throw base::InputError("GEMM operand B holds columns of " + std::to_string(operands.b_columns.cols()) +
                           " elements, but A has k = " + std::to_string(k));
  }
  if (operands.c && (operands.c.rows() != extents.m || operands.c.cols() != extents.n)) {
    throw base::InputError("GEMM operand C is " + size_of(operands.c.rows(), operands.c.cols()) + ", but D is " +
                           size_of(extents.m, extents.n));
  }
  return extents;
}

/// Rows [row_begin, row_end) of one slice of K; `state` holds its accumulators.
void run_slice(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  const mma::MmaInstruction& instruction = *gemm.instruction;
  const mma::StepRules& rules = *gemm.rules;
  if (has_integer_kernel(instruction, rules)) {
    run_integer_gemm(gemm, row_begin, row_end);
    return;
  }
  const bool mixes_words =
      gemm.nibbles != nullptr && instruction.a_type == DataType::kTf32 && has_invalid_nibble(gemm, row_begin, row_end);
  if (!has_float_kernel(instruction, rules) || mixes_words) {
    run_plain(gemm, row_begin, row_end);
    return;
  }
  const std::span<Word> state = gemm.state.rows_between(row_begin, row_end);
  const bool half = rules.output == DataType::kF16 && gemm.depth_begin < gemm.depth_end;
  if (half) {
    std::transform(state.begin(), state.end(), state.begin(), widen_half);
  }
  run_float_gemm(gemm, row_begin, row_end);
  if (half) {
    std::transform(state.begin(), state.end(), state.begin(), narrow_half);
  }
}

/// The sum of two accumulators of split-K: rounded to nearest even, integers wrap.
Word add_accumulators(Word a, Word b, DataType type) {
  if (type == DataType::kS32) {
    return a + b;
  }
  // The exact sum of two floats may need more than a double's 53 bits, but rounding it to 53 first
  // is harmless: 53 >= 2 * 24 + 2.
  return numerics::from_double(numerics::to_double(a, type) + numerics::to_double(b, type), type);
}

/// Rows of a GEMM, all slices of K, into `d`. `partial`: room for the accumulators of a later
/// slice.
void run_rows(GemmSlice slice, std::size_t slice_depth, const numerics::OperandView& c, base::MatrixView<Word> d,
              base::MatrixView<Word> partial, std::size_t row_begin, std::size_t row_end) {
  const std::size_t depth = slice.a.cols();
  const std::span<Word> sums = d.rows_between(row_begin, row_end);
  if (c) {
    for (std::size_t row = row_begin; row < row_end; ++row) {
      const std::span<Word> to = d.row(row);
      const Word* from = c.words(row, 0, c.cols(), to.data());
      std::copy_n(from, from == to.data() ? 0 : to.size(), to.data());
    }
  } else {
    std::fill(sums.begin(), sums.end(), Word{0});
  }
  slice.state = d;
  slice.depth_end = std::min(slice_depth, depth);
  run_slice(slice, row_begin, row_end);
  slice.state = partial;
  for (std::size_t begin = slice_depth; begin < depth; begin += slice_depth) {
    const std::span<Word> addend = partial.rows_between(row_begin, row_end);
    std::fill(addend.begin(), addend.end(), Word{0});
    slice.depth_begin = begin;
    slice.depth_end = std::min(begin + slice_depth, depth);
    run_slice(slice, row_begin, row_end);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = add_accumulators(sums[i], addend[i], slice.rules->output);
    }
  }
}

}  // namespace

base::Matrix<Word> gemm(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
                        const GemmOperands& operands, const EngineOptions& options) {
  const Extents extents = checked_extents(instruction, operands, options);
  base::Matrix<Word> result(extents.m, extents.n);
  gemm(instruction, rules, operands, options, result);
  return result;
}

void gemm(const mma::MmaInstruction& instruction, const mma::StepRules& rules, const GemmOperands& operands,
          const EngineOptions& options, base::MatrixView<Word> d) {
  const Extents extents = checked_extents(instruction, operands, options);
  base::ensure(d.rows() == extents.m && d.cols() == extents.n, "GEMM: D has other extents");

  GemmSlice slice;
  slice.instruction = &instruction;
  slice.rules = &rules;
  slice.a = instruction.sparse ? numerics::OperandView(operands.compressed_a->values) : operands.a;
  slice.nibbles = instruction.sparse ? &operands.compressed_a->nibbles : nullptr;
  slice.b_columns = operands.b_columns;

  const auto instruction_depth = static_cast<std::size_t>(instruction.compressed_k());
  const std::size_t instructions = (extents.depth + instruction_depth - 1) / instruction_depth;
  const auto slices = static_cast<std::size_t>(options.split_k);
  const std::size_t slice_depth = std::max<std::size_t>((instructions + slices - 1) / slices, 1) * instruction_depth;
  base::Matrix<Word> partial;
  if (slice_depth < extents.depth) {
    partial = base::Matrix<Word>(extents.m, extents.n);
  }
  for_row_ranges(extents.m, options.threads, [&](std::size_t begin, std::size_t end) {
    run_rows(slice, slice_depth, operands.c, d, partial, begin, end);
  });
}

base::Matrix<std::uint64_t> gemm_f64(const base::Matrix<std::uint64_t>& a, const base::Matrix<std::uint64_t>& b_columns,
                                     const base::Matrix<std::uint64_t>* c, int threads) {
  if (a.cols() != b_columns.cols()) {
    throw base::InputError("GEMM operand B holds columns of " + std::to_string(b_columns.cols()) +
                           " elements, but A has k = " + std::to_string(a.cols()));
  }
  if (threads < 1) {
    throw base::InputError("GEMM options: threads " + std::to_string(threads) + " must be at least 1");
  }
  if (c != nullptr && (c->rows() != a.rows() || c->cols() != b_columns.rows())) {
    throw base::InputError("GEMM operand C does not have the extents of D");
  }
  base::Matrix<std::uint64_t> d(a.rows(), b_columns.rows());
  for_row_ranges(a.rows(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < d.cols(); ++j) {
        d(i, j) = mma::f64_dot(a.row(i), b_columns.row(j), c != nullptr ? (*c)(i, j) : 0);
      }
    }
  });
  return d;
}

}  // namespace sptc::batched
