// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/prune.h"

#include "models/base/error.h"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

/// What runs of a group are ranked by: whether it is NaN, which outranks every sum, and magnitude.
using Score = std::pair<bool, double>;

Score score_of(std::span<const Word> run, DataType type) {
  double magnitude = 0;
  for (const Word word : run) {
    magnitude += std::fabs(numerics::to_double(word, type));
  }
  return std::isnan(magnitude) ? Score{true, 0} : Score{false, magnitude};
}

/// How many runs are kept rather than run `i`: the larger ones, and of equals those before it.
int runs_ahead(std::span<const Score> scores, std::size_t i) {
  int ahead = 0;
  for (std::size_t other = 0; other < scores.size(); ++other) {
    ahead += scores[other] > scores[i] || (scores[other] == scores[i] && other < i) ? 1 : 0;
  }
  return ahead;
}

void require_pattern(const Pattern& pattern) {
  const bool sound = pattern.run > 0 && pattern.kept > 0 && pattern.kept <= pattern.group &&
                     pattern.kept % pattern.run == 0 && pattern.group % pattern.run == 0;
  if (!sound) {
    throw base::InputError("pattern " + pattern.name() + " in runs of " +
                           std::to_string(pattern.run) +
                           " is not valid: 0 < N <= M is needed, both multiples of the run");
  }
}

}  // namespace

base::Matrix<Word> prune_by_magnitude(const base::Matrix<Word>& dense, DataType type,
                                      const Pattern& pattern) {
  require_pattern(pattern);
  const auto group_size = static_cast<std::size_t>(pattern.group);
  const auto run = static_cast<std::size_t>(pattern.run);
  if (dense.cols() % group_size != 0) {
    throw base::InputError("cannot prune k = " + std::to_string(dense.cols()) + " to " +
                           pattern.name() + ": k must be a multiple of " +
                           std::to_string(pattern.group));
  }
  base::Matrix<Word> pruned(dense.rows(), dense.cols());
  std::vector<Score> scores(group_size / run);
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    for (std::size_t start = 0; start < dense.cols(); start += group_size) {
      const std::span<const Word> group = dense.row(row).subspan(start, group_size);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = score_of(group.subspan(i * run, run), type);
      }
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const bool keep = runs_ahead(scores, i) < pattern.choices();
        for (std::size_t at = i * run; keep && at < (i + 1) * run; ++at) {
          pruned(row, start + at) = numerics::to_double(group[at], type) == 0 ? Word{0} : group[at];
        }
      }
    }
  }
  return pruned;
}

base::Matrix<Word> prune_by_magnitude(const base::Matrix<Word>& dense, DataType type) {
  return prune_by_magnitude(dense, type, hardware_pattern(type));
}

}  // namespace sptc::sparsity
