// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/weight_pattern.h"

#include "models/base/error.h"
#include "models/sparsity/prune.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr int kMaxGroup = 64;
constexpr int kMaxVectorRows = 1024;

std::vector<int> numbers_of(std::string_view text) {
  std::vector<int> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    const auto [stop, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || (stop != end && *stop != ':')) {
      return {};
    }
    if (stop == end) {
      return numbers;
    }
    at = stop;
  }
}

/// Whether every matrix of pattern `inner` is one of `outer`.
bool contained(const Pattern& inner, const Pattern& outer) {
  if (inner.run != 1 || outer.run != 1) {
    return inner == outer;
  }
  if (inner.group % outer.group == 0) {
    return inner.kept <= outer.kept;
  }
  return outer.group % inner.group == 0 && outer.group / inner.group * inner.kept <= outer.kept;
}

/// `selector`, counted in elements of `type`.
SelectorWidth for_elements(const SelectorWidth& selector, DataType type) {
  return type == DataType::kTf32
             ? SelectorWidth{selector.inputs / 2, std::max(1, selector.kept / 2)}
             : selector;
}

bool reaches(const SelectorWidth& selector, const Pattern& pattern) {
  return pattern.candidates() <= selector.inputs &&
         pattern.group * selector.kept <= selector.inputs * pattern.kept;
}

double magnitude(Word word, DataType type) {
  const double value = std::fabs(numerics::to_double(word, type));
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

/// The columns that rows [begin, end) keep of each group of `group`, in increasing order.
std::vector<std::size_t> kept_columns(const base::Matrix<Word>& dense, DataType type,
                                      std::size_t begin, std::size_t end, std::size_t group) {
  std::vector<std::size_t> kept;
  std::vector<double> sums(group);
  std::vector<std::size_t> order(group);
  for (std::size_t start = 0; start < dense.cols(); start += group) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t i = 0; i < group; ++i) {
        sums[i] += magnitude(dense(row, start + i), type);
      }
    }
    std::iota(order.begin(), order.end(), start);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sums[a - start] > sums[b - start];
    });
    std::sort(order.begin(), order.begin() + kVectorColumns);
    kept.insert(kept.end(), order.begin(), order.begin() + kVectorColumns);
  }
  return kept;
}

/// Every group of `pruned`, which `pattern` allows, filled up with explicit zeros.
KeptElements kept_of_row(std::span<const Word> pruned, const Pattern& pattern) {
  KeptElements result;
  const auto group = static_cast<std::size_t>(pattern.group);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const auto run = static_cast<std::size_t>(pattern.run);
  std::vector<char> keep(group);
  for (std::size_t start = 0; start < pruned.size(); start += group) {
    std::fill(keep.begin(), keep.end(), 0);
    std::size_t count = 0;
    for (std::size_t i = 0; i < group; ++i) {
      if (pruned[start + i] != 0 && keep[i] == 0) {
        const std::size_t first = i / run * run;
        std::fill_n(keep.begin() + static_cast<std::ptrdiff_t>(first), run, 1);
        count += run;
      }
    }
    for (std::size_t i = 0; i < group && count < kept; i += run) {
      if (keep[i] == 0) {
        std::fill_n(keep.begin() + static_cast<std::ptrdiff_t>(i), run, 1);
        count += run;
      }
    }
    base::ensure(count == kept, "a row holds more elements than its pattern");
    for (std::size_t i = 0; i < group; ++i) {
      if (keep[i] != 0) {
        result.values.push_back(pruned[start + i]);
        result.columns.push_back(start + i);
      }
    }
  }
  return result;
}

std::vector<KeptElements> prune_blocks(const base::Matrix<Word>& dense, DataType type,
                                       const WeightPattern& weights,
                                       const PatternExecution& execution) {
  std::vector<KeptElements> result;
  const auto group = static_cast<std::size_t>(weights.pattern.group);
  const auto rows = static_cast<std::size_t>(weights.vector_rows);
  for (std::size_t begin = 0; begin < dense.rows(); begin += rows) {
    const std::size_t end = std::min(dense.rows(), begin + rows);
    const std::vector<std::size_t> columns = kept_columns(dense, type, begin, end, group);
    base::Matrix<Word> gathered(end - begin, columns.size());
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        gathered(row - begin, i) = dense(row, columns[i]);
      }
    }
    const base::Matrix<Word> pruned = prune_by_magnitude(gathered, type, execution.instruction);
    for (std::size_t row = 0; row < pruned.rows(); ++row) {
      KeptElements kept = kept_of_row(pruned.row(row), execution.instruction);
      for (std::size_t& column : kept.columns) {
        column = columns[column];
      }
      result.push_back(std::move(kept));
    }
  }
  return result;
}

}  // namespace

std::string WeightPattern::name() const {
  return (vector_rows > 0 ? std::to_string(vector_rows) + ":" : "") + pattern.name();
}

WeightPattern parse_weight_pattern(std::string_view text) {
  const std::vector<int> numbers = numbers_of(text);
  WeightPattern result;
  const bool vectors = numbers.size() == 3;
  bool sound = numbers.size() == 2 || vectors;
  if (sound) {
    const std::size_t first = vectors ? 1 : 0;
    result.pattern = {numbers[first], numbers[first + 1], 1};
    result.vector_rows = vectors ? numbers[0] : 0;
    const Pattern& pattern = result.pattern;
    sound = pattern.kept > 0 && pattern.kept < pattern.group && pattern.group <= kMaxGroup &&
            (!vectors || (pattern.kept == 2 && pattern.group > kVectorColumns &&
                          result.vector_rows > 0 && result.vector_rows <= kMaxVectorRows));
  }
  if (!sound) {
    throw base::InputError("a pattern is N:M with 0 < N < M <= " + std::to_string(kMaxGroup) +
                           ", for example 2:4, or V:2:M with V rows up to " +
                           std::to_string(kMaxVectorRows) + " and M above 4, for example 64:2:8");
  }
  return result;
}

PatternExecution pattern_execution(const WeightPattern& weights, DataType type,
                                   const SelectorWidth& selector) {
  const Pattern& pattern = weights.pattern;
  const Pattern hardware = hardware_pattern(type);
  const bool same = pattern.kept == hardware.kept && pattern.group == hardware.group;
  const bool has_hardware = hardware.candidates() <= selector.inputs;
  if (weights.vector_rows == 0 && same && has_hardware) {
    return {hardware, hardware.group, 1, 1, 0};
  }
  const SelectorWidth reach = for_elements(selector, type);
  const std::string needs = "weights at " + weights.name() + " need a selector of " +
                            std::to_string(pattern.candidates()) + " inputs for each " +
                            std::to_string(pattern.kept) + " multipliers, and this one has " +
                            std::to_string(reach.inputs) + " for each " +
                            std::to_string(reach.kept) + " of " + std::string(numerics::name(type));
  if (same && weights.vector_rows == 0) {
    throw base::InputError(needs);
  }
  if (hardware.run != 1) {
    throw base::InputError("weights of " + std::string(numerics::name(type)) + " are " +
                           hardware.name() + " in pairs; " + weights.name() + " is not modelled");
  }
  const bool two_of_four = hardware == Pattern{2, 4, 1} && has_hardware;
  if (weights.vector_rows > 0) {
    if (!two_of_four) {
      throw base::InputError("V:N:M weights (" + weights.name() + ") run on 2:4 hardware, and " +
                             std::string(numerics::name(type)) + " has " + hardware.name());
    }
    return {hardware, pattern.group, kVectorColumns, pattern.group, weights.vector_rows};
  }
  const bool within = has_hardware && contained(pattern, hardware);
  const bool as_dense = pattern.kept * hardware.group == hardware.kept * pattern.group;
  if (reaches(reach, pattern) && !(within && as_dense)) {
    return {pattern, pattern.group, 1, 1, 0};
  }
  if (within) {
    return {hardware, std::lcm(pattern.group, hardware.group), 1, 1, 0};
  }
  if (two_of_four && pattern.kept == pattern.group - 2 && pattern.group % 2 == 0) {
    return {hardware, pattern.group, 4 * (pattern.group / 2 - 1), pattern.group, 0};
  }
  throw base::InputError(needs + "; they neither are " + hardware.name() +
                         " nor decompose into it");
}

std::vector<KeptElements> prune_to_kept(const base::Matrix<Word>& dense, DataType type,
                                        const WeightPattern& weights,
                                        const PatternExecution& execution) {
  base::ensure(dense.cols() % static_cast<std::size_t>(execution.group) == 0,
               "weights do not fill whole groups");
  if (execution.vector_rows > 0) {
    return prune_blocks(dense, type, weights, execution);
  }
  Pattern pattern = weights.pattern;
  pattern.run = execution.instruction.run;
  const base::Matrix<Word> pruned = prune_by_magnitude(dense, type, pattern);
  // A decomposition keeps what the pattern keeps, in the same order: window w of a group takes its
  // elements 2w and 2w + 1.
  const bool decomposed = execution.k_numerator > execution.k_denominator;
  const Pattern& executed = decomposed ? pattern : execution.instruction;
  std::vector<KeptElements> result;
  for (std::size_t row = 0; row < pruned.rows(); ++row) {
    result.push_back(kept_of_row(pruned.row(row), executed));
  }
  return result;
}

}  // namespace sptc::sparsity
