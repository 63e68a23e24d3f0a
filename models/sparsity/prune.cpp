// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/prune.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/sparsity/weight_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

/// The two largest of every four, without a branch.
void select_two_of_four(std::span<const float> scores, std::span<std::uint8_t> mask) {
  for (std::size_t at = 0; at + 4 <= scores.size(); at += 4) {
    const float* const s = scores.data() + at;
    const int b01 = s[0] >= s[1] ? 1 : 0;  // element 0 goes before element 1
    const int b02 = s[0] >= s[2] ? 1 : 0;
    const int b03 = s[0] >= s[3] ? 1 : 0;
    const int b12 = s[1] >= s[2] ? 1 : 0;
    const int b13 = s[1] >= s[3] ? 1 : 0;
    const int b23 = s[2] >= s[3] ? 1 : 0;
    std::uint8_t* const kept = mask.data() + at;
    kept[0] = b01 + b02 + b03 >= 2 ? 1 : 0;
    kept[1] = (1 - b01) + b12 + b13 >= 2 ? 1 : 0;
    kept[2] = (2 - b02 - b12) + b23 >= 2 ? 1 : 0;
    kept[3] = b03 + b13 + b23 <= 1 ? 1 : 0;
  }
}

void select_group(std::span<const float> scores, const Pattern& pattern, std::span<float> runs, std::span<int> order,
                  std::span<std::uint8_t> mask) {
  const auto run = static_cast<std::size_t>(pattern.run);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i] = std::accumulate(scores.begin() + static_cast<std::ptrdiff_t>(i * run),
                              scores.begin() + static_cast<std::ptrdiff_t>((i + 1) * run), 0.0F);
  }
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int a, int b) {
    const float left = runs[static_cast<std::size_t>(a)];
    const float right = runs[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + pattern.choices(), order.end(), before);
  std::fill(mask.begin(), mask.end(), std::uint8_t{0});
  for (int i = 0; i < pattern.choices(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(order[static_cast<std::size_t>(i)]) * pattern.run;
    std::fill_n(mask.begin() + first, run, std::uint8_t{1});
  }
}

void select_rows(const base::Matrix<float>& scores, const Pattern& pattern, Mask& mask) {
  const auto group = static_cast<std::size_t>(pattern.group);
  std::vector<float> runs(static_cast<std::size_t>(pattern.candidates()));
  std::vector<int> order(runs.size());
  for (std::size_t row = 0; row < scores.rows(); ++row) {
    if (pattern == Pattern{2, 4, 1}) {
      select_two_of_four(scores.row(row), mask.row(row));
      continue;
    }
    for (std::size_t at = 0; at < scores.cols(); at += group) {
      select_group(scores.row(row).subspan(at, group), pattern, runs, order, mask.row(row).subspan(at, group));
    }
  }
}

/// One group of M columns of a block of rows: four columns for all, then N of them in each row.
void select_block(const base::Matrix<float>& scores, const Pattern& pattern, std::size_t first_row,
                  std::size_t last_row, std::size_t first_column, Mask& mask) {
  const auto group = static_cast<std::size_t>(pattern.group);
  std::vector<double> sums(group, 0.0);
  for (std::size_t row = first_row; row < last_row; ++row) {
    for (std::size_t i = 0; i < group; ++i) {
      sums[i] += static_cast<double>(scores(row, first_column + i));
    }
  }
  std::vector<std::size_t> columns(group);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::stable_sort(columns.begin(), columns.end(), [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  std::sort(columns.begin(), columns.begin() + kVectorColumns);
  std::array<float, kVectorColumns> four{};
  std::array<std::uint8_t, kVectorColumns> kept{};
  for (std::size_t row = first_row; row < last_row; ++row) {
    for (std::size_t i = 0; i < four.size(); ++i) {
      four[i] = scores(row, first_column + columns[i]);
    }
    select_two_of_four(four, kept);
    for (std::size_t i = 0; i < four.size(); ++i) {
      mask(row, first_column + columns[i]) = kept[i];
    }
  }
}

/// Magnitudes, which float holds of every operand type: NaN above infinity, and that above numbers.
base::Matrix<float> scores_of(const base::Matrix<Word>& dense, DataType type) {
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max());
  base::Matrix<float> scores(dense.rows(), dense.cols());
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const double value = std::fabs(numerics::to_double(dense.data()[i], type));
    scores.data()[i] =
        std::isnan(value) ? std::numeric_limits<float>::infinity() : static_cast<float>(std::min(value, kMost));
  }
  return scores;
}

/// What `mask` keeps of `dense`, whose scores are `scores`; every zero is positive.
base::Matrix<Word> masked(const base::Matrix<Word>& dense, const base::Matrix<float>& scores, const Mask& mask) {
  base::Matrix<Word> pruned(dense.rows(), dense.cols());
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const bool stays = mask.data()[i] != 0 && scores.data()[i] != 0;
    pruned.data()[i] = stays ? dense.data()[i] : Word{0};
  }
  return pruned;
}

void require_pattern(const Pattern& pattern) {
  const bool sound = pattern.run > 0 && pattern.kept > 0 && pattern.kept <= pattern.group &&
                     pattern.kept % pattern.run == 0 && pattern.group % pattern.run == 0;
  if (!sound) {
    throw base::InputError("pattern " + pattern.name() + " in runs of " + std::to_string(pattern.run) +
                           " is not valid: 0 < N <= M is needed, both multiples of the run");
  }
}

}  // namespace

Mask select(const base::Matrix<float>& scores, const WeightPattern& pattern) {
  const auto group = static_cast<std::size_t>(pattern.pattern.group);
  if (scores.cols() % group != 0) {
    throw base::InputError("k = " + std::to_string(scores.cols()) + " cannot be pruned to " + pattern.name() +
                           ": it must be a multiple of " + std::to_string(group));
  }
  Mask mask(scores.rows(), scores.cols());
  if (pattern.vector_rows == 0) {
    select_rows(scores, pattern.pattern, mask);
    return mask;
  }
  const auto rows = static_cast<std::size_t>(pattern.vector_rows);
  for (std::size_t row = 0; row < scores.rows(); row += rows) {
    for (std::size_t column = 0; column < scores.cols(); column += group) {
      select_block(scores, pattern.pattern, row, std::min(scores.rows(), row + rows), column, mask);
    }
  }
  return mask;
}

base::Matrix<Word> prune_by_magnitude(const base::Matrix<Word>& dense, DataType type, const Pattern& pattern) {
  require_pattern(pattern);
  if (dense.cols() % static_cast<std::size_t>(pattern.group) != 0) {
    throw base::InputError("cannot prune k = " + std::to_string(dense.cols()) + " to " + pattern.name() +
                           ": k must be a multiple of " + std::to_string(pattern.group));
  }
  const base::Matrix<float> scores = scores_of(dense, type);
  return masked(dense, scores, select(scores, {pattern, 0}));
}

std::vector<KeptElements> prune_to_kept(const base::Matrix<Word>& dense, DataType type, const WeightPattern& weights,
                                        const PatternExecution& execution) {
  base::ensure(dense.cols() % static_cast<std::size_t>(execution.group) == 0, "weights do not fill whole groups");
  WeightPattern pattern = weights;
  pattern.pattern.run = execution.instruction.run;
  const base::Matrix<float> scores = scores_of(dense, type);
  Mask kept = select(scores, pattern);
  const base::Matrix<Word> pruned = masked(dense, scores, kept);
  // A decomposition keeps what the pattern keeps, in the same order: window w of a group takes its
  // elements 2w and 2w + 1. Within another pattern, zeros fill up the groups of that one.
  const bool decomposed = execution.k_numerator > execution.k_denominator;
  if (execution.vector_rows == 0 && !decomposed && pattern.pattern != execution.instruction) {
    kept = select(scores_of(pruned, type), {execution.instruction, 0});
  }
  std::vector<KeptElements> result(pruned.rows());
  for (std::size_t row = 0; row < pruned.rows(); ++row) {
    for (std::size_t column = 0; column < pruned.cols(); ++column) {
      if (kept(row, column) != 0) {
        result[row].values.push_back(pruned(row, column));
        result[row].columns.push_back(column);
      }
    }
  }
  return result;
}

}  // namespace sptc::sparsity
