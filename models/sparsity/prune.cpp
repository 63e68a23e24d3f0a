// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/prune.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

/// What runs of a group are ranked by. NaN outranks every sum.
struct Score {
  bool is_nan = false;
  double magnitude = 0;

  bool exceeds(const Score& other) const {
    return is_nan != other.is_nan ? is_nan : !is_nan && magnitude > other.magnitude;
  }
};

Score score_of(std::span<const Word> run, DataType type) {
  Score score;
  for (const Word word : run) {
    score.magnitude += std::fabs(numerics::to_double(word, type));
  }
  score.is_nan = std::isnan(score.magnitude);
  return score;
}

void require_pattern(const Pattern& pattern) {
  const bool sound = pattern.run > 0 && pattern.kept > 0 && pattern.kept <= pattern.group &&
                     pattern.kept % pattern.run == 0 && pattern.group % pattern.run == 0;
  if (!sound) {
    throw InputError("pattern " + pattern.name() + " in runs of " + std::to_string(pattern.run) +
                     " is not valid: 0 < N <= M is needed, both multiples of the run");
  }
}

}  // namespace

Matrix<Word> prune_by_magnitude(const Matrix<Word>& dense, DataType type, const Pattern& pattern) {
  require_pattern(pattern);
  const auto group_size = static_cast<std::size_t>(pattern.group);
  const auto run = static_cast<std::size_t>(pattern.run);
  if (dense.cols() % group_size != 0) {
    throw InputError("cannot prune k = " + std::to_string(dense.cols()) + " to " + pattern.name() +
                     ": k must be a multiple of " + std::to_string(pattern.group));
  }
  Matrix<Word> pruned(dense.rows(), dense.cols());
  std::vector<Score> scores(group_size / run);
  std::vector<std::size_t> order(scores.size());
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    for (std::size_t start = 0; start < dense.cols(); start += group_size) {
      const std::span<const Word> group = dense.row(row).subspan(start, group_size);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = score_of(group.subspan(i * run, run), type);
      }
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&scores](std::size_t a, std::size_t b) {
        // Of equals the lower index first.
        return scores[a].exceeds(scores[b]) || (!scores[b].exceeds(scores[a]) && a < b);
      });
      for (int choice = 0; choice < pattern.choices(); ++choice) {
        const std::size_t first = order[static_cast<std::size_t>(choice)] * run;
        for (std::size_t i = first; i < first + run; ++i) {
          pruned(row, start + i) = numerics::to_double(group[i], type) == 0 ? Word{0} : group[i];
        }
      }
    }
  }
  return pruned;
}

Matrix<Word> prune_by_magnitude(const Matrix<Word>& dense, DataType type) {
  return prune_by_magnitude(dense, type, hardware_pattern(type));
}

}  // namespace sptc::sparsity
