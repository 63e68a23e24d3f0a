// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/weight_pattern.h"

#include "models/base/error.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

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

bool reaches(const SelectorWidth& selector, const Pattern& pattern) {
  return pattern.candidates() <= selector.inputs && pattern.group * selector.kept <= selector.inputs * pattern.kept;
}

}  // namespace

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
            (!vectors || (pattern.kept == 2 && pattern.group > kVectorColumns && result.vector_rows > 0 &&
                          result.vector_rows <= kMaxVectorRows));
  }
  if (!sound) {
    throw base::InputError("a pattern is N:M with 0 < N < M <= " + std::to_string(kMaxGroup) +
                           ", for example 2:4, or V:2:M with V rows up to " + std::to_string(kMaxVectorRows) +
                           " and M above 4, for example 64:2:8");
  }
  return result;
}

PatternExecution pattern_execution(const WeightPattern& weights, DataType type, const SelectorWidth& selector) {
  const Pattern& pattern = weights.pattern;
  const Pattern hardware = hardware_pattern(type);
  const bool same = pattern.kept == hardware.kept && pattern.group == hardware.group;
  const bool has_hardware = hardware.candidates() <= selector.inputs;
  if (weights.vector_rows == 0 && same && has_hardware) {
    return {hardware, hardware.group, 1, 1, 0};
  }
  SelectorWidth reach = selector;  // counted in elements of `type`
  if (type == DataType::kTf32) {
    reach = {selector.inputs / 2, std::max(1, selector.kept / 2)};
  }
  const std::string needs = "weights at " + weights.name() + " need a selector of " +
                            std::to_string(pattern.candidates()) + " inputs for each " + std::to_string(pattern.kept) +
                            " multipliers, and this architecture "
                            "has " +
                            std::to_string(reach.inputs) + " for each " + std::to_string(reach.kept) + " of " +
                            std::string(numerics::name(type));
  if (same && weights.vector_rows == 0) {
    throw base::InputError(needs);
  }
  if (hardware.run != 1) {
    throw base::InputError("weights of " + std::string(numerics::name(type)) + " are " + hardware.name() +
                           " in pairs; " + weights.name() + " is not modelled");
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
  throw base::InputError(needs + "; they neither are " + hardware.name() + " nor decompose into it");
}

}  // namespace sptc::sparsity
