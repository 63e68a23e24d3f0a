// SPDX-License-Identifier: Apache-2.0
#include "models/batched/fallback.h"

#include "models/mma/dot_step.h"
#include "models/sparsity/compress.h"

#include <algorithm>
#include <span>
#include <vector>

namespace sptc::batched {

using numerics::Word;

SelectionTable::SelectionTable(numerics::DataType type) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(type);
  kept = static_cast<std::size_t>(pattern.kept);
  group = static_cast<std::size_t>(pattern.group);
  for (std::uint8_t nibble = 0; nibble < 16; ++nibble) {
    for (std::size_t slot = 0; slot < kept; ++slot) {
      position[nibble][slot] = static_cast<std::uint8_t>(
          sparsity::selected_position(nibble, static_cast<int>(slot), pattern));
    }
  }
}

Word slow_dot(const GemmSlice& gemm, std::size_t row, std::size_t column, std::size_t begin,
              std::size_t end, Word c) {
  thread_local std::vector<Word> row_buffer, column_buffer;
  const auto words = [](const numerics::OperandView& matrix, std::size_t line, std::size_t from,
                        std::size_t to, std::vector<Word>& buffer) {
    buffer.resize(to - from);
    return std::span<const Word>(matrix.words(line, from, to, buffer.data()), to - from);
  };
  const std::span<const Word> a = words(gemm.a, row, begin, end, row_buffer);
  if (gemm.nibbles == nullptr) {
    return mma::dense_dot(a, words(gemm.b_columns, column, begin, end, column_buffer), c,
                          *gemm.instruction, *gemm.rules);
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(gemm.instruction->a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const auto group = static_cast<std::size_t>(pattern.group);
  return mma::sparse_dot(
      a, gemm.nibbles->row(row).subspan(begin / kept, (end - begin) / kept),
      words(gemm.b_columns, column, begin / kept * group, end / kept * group, column_buffer), c,
      *gemm.instruction, *gemm.rules);
}

void run_plain(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  for (std::size_t i = row_begin; i < row_end; ++i) {
    for (std::size_t j = 0; j < gemm.state.cols(); ++j) {
      Word& state = gemm.state(i, j);
      state = slow_dot(gemm, i, j, gemm.depth_begin, gemm.depth_end, state);
    }
  }
}

bool has_invalid_nibble(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(gemm.instruction->a_type);
  const std::uint8_t* nibbles = gemm.nibbles->data();
  const std::size_t groups = gemm.nibbles->cols();
  return std::any_of(
      nibbles + row_begin * groups, nibbles + row_end * groups, [&](std::uint8_t nibble) {
        return !sparsity::is_valid_nibble(static_cast<std::uint8_t>(nibble & 15U), pattern);
      });
}

}  // namespace sptc::batched
