// SPDX-License-Identifier: Apache-2.0
#include "models/batched/fallback.h"

#include "models/mma/dot_step.h"
#include "models/sparsity/compress.h"

#include <span>
#include <vector>

namespace sptc::batched {

using numerics::Word;

Word slow_dot(const GemmSlice& gemm, std::size_t row, std::size_t column, std::size_t begin, std::size_t end, Word c) {
  const std::size_t count = end - begin;
  struct Buffers {
    std::vector<Word> row, column, selected;
  };
  thread_local Buffers buffers;
  auto& [row_buffer, column_buffer, selected] = buffers;
  row_buffer.resize(count);
  const std::span<const Word> a(gemm.a.words(row, begin, end, row_buffer.data()), count);
  if (gemm.nibbles == nullptr) {
    column_buffer.resize(count);
    const std::span<const Word> b(gemm.b_columns.words(column, begin, end, column_buffer.data()), count);
    return mma::dense_dot(a, b, c, *gemm.instruction, *gemm.rules);
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(gemm.instruction->a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const auto nibbles = gemm.nibbles->row(row);
  selected.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t group = (begin + i) / kept;
    const auto b = [&](int position) {
      return gemm.b_columns(column,
                            group * static_cast<std::size_t>(pattern.group) + static_cast<std::size_t>(position));
    };
    const auto slot = static_cast<int>((begin + i) % kept);
    selected[i] = sparsity::selected_word(b, nibbles[group], slot, pattern);
  }
  return mma::dense_dot(a, selected, c, *gemm.instruction, *gemm.rules);
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
  std::uint32_t invalid = 0;  // a bit for each nibble
  for (std::uint8_t nibble = 0; nibble < 16; ++nibble) {
    invalid |= sparsity::is_valid_nibble(nibble, pattern) ? 0U : 1U << nibble;
  }
  const std::size_t groups = gemm.nibbles->cols();
  std::uint32_t found = 0;
  for (std::size_t i = row_begin * groups; i < row_end * groups; ++i) {
    found |= invalid >> (gemm.nibbles->data()[i] & 15U);
  }
  return (found & 1U) != 0;
}

}  // namespace sptc::batched
