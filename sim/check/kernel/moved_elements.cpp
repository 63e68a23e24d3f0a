// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/moved_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <set>

namespace sptc::check::kernel {
namespace {

template <typename T>
void take_elements(const base::Matrix<T>& whole, const Source& source, const std::vector<std::size_t>& lines,
                   base::Matrix<T>& into) {
  for (std::size_t i = 0; i < into.rows(); ++i) {
    for (std::size_t at = 0; at < whole.cols(); ++at) {
      const auto [line, column] = source(lines[i], at);
      into(i, at) = line < whole.rows() && column < whole.cols() ? whole(line, column) : T{0};
    }
  }
}

/// What `of(line, source)` is for all entries of `map`; nothing where it is not the same.
template <typename Of>
auto common(const LineMap& map, const Of& of) {
  const auto first = of(map.front().first, map.front().second);
  const bool is_common =
      std::ranges::all_of(map, [&](const auto& entry) { return of(entry.first, entry.second) == first; });
  return is_common ? std::optional(first) : std::nullopt;
}

/// Whether the lines of `map` exchange places among each other.
bool is_permutation(const LineMap& map) {
  std::set<std::size_t> lines, sources;
  for (const auto& [line, source] : map) {
    lines.insert(line);
    sources.insert(source);
  }
  return lines == sources;
}

std::string map_text_of(const LineMap& map, const char* unit) {
  constexpr std::size_t kListed = 4;  // pairs that are named one by one
  const auto& [line, source] = map.front();
  if (map.size() == 2 && is_permutation(map)) {
    return fmt::format("{}s {} and {} are exchanged", unit, line, map[1].first);
  }
  if (map.size() == 1) {
    return fmt::format("{0} {1} holds {0} {2}", unit, line, source);
  }
  std::vector<std::size_t> numbers;
  std::ranges::transform(map, std::back_inserter(numbers), &LineMap::value_type::first);
  const std::string lines = text_of(intervals_of(numbers), unit, 0);
  if (common(map, [](std::size_t, std::size_t from) { return from; })) {
    return fmt::format("{} all hold {} {}", lines, unit, source);
  }
  const auto flip = common_flip(map);
  const auto shift = common_shift(map);
  if ((flip && is_permutation(map)) || shift) {
    const std::string formula = flip && is_permutation(map)
                                    ? fmt::format("^ {}", *flip)
                                    : fmt::format("{} {}", *shift < 0 ? '-' : '+', std::abs(*shift));
    return fmt::format("{0} i holds {0} i {1}, for {2}", unit, formula, lines);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, map.size()); ++i) {
    text += fmt::format("{0}{1} {2} holds {1} {3}", i == 0 ? "" : ", ", unit, map[i].first, map[i].second);
  }
  return text + (map.size() > kListed ? fmt::format(" and so on, {} {}s in all", map.size(), unit) : "");
}

}  // namespace

Hypothesis moved(const WrongKernel& kernel, Moved parts, std::string cause, std::string text, Source source) {
  Hypothesis result{std::move(cause), std::move(text)};
  if (parts.d) {
    result.word = [&kernel, source = std::move(source)](std::size_t row, std::size_t column) {
      const auto [from_row, from_column] = source(row, column);
      const bool is_there = from_row < kernel.computed.rows() && from_column < kernel.computed.cols();
      return is_there ? kernel.computed(from_row, from_column) : kernel.computed(row, column);
    };
    return result;
  }
  result.change = [&from = kernel.operands, parts, source = std::move(source)](KernelOperands& operands,
                                                                               const Selection& selection) {
    if (parts.values) {
      take_elements(from.a, source, selection.rows, operands.a);
    }
    if (parts.metadata) {
      take_elements(from.nibbles, source, selection.rows, operands.nibbles);
    }
    if (parts.b) {
      take_elements(from.b_columns, source, selection.columns, operands.b_columns);
    }
    if (parts.c) {
      selection.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
        const auto [from_row, from_column] = source(row, column);
        operands.c(i, j) = from.c(from_row, from_column);
      });
    }
  };
  return result;
}

std::optional<std::size_t> common_flip(const LineMap& map) {
  return common(map, [](std::size_t line, std::size_t source) { return line ^ source; });
}

std::optional<std::ptrdiff_t> common_shift(const LineMap& map) {
  return common(map, [](std::size_t line, std::size_t source) {
    return static_cast<std::ptrdiff_t>(source) - static_cast<std::ptrdiff_t>(line);
  });
}

Hypothesis moved_lines(const WrongKernel& kernel, Moved parts, bool of_rows, std::string cause, const char* what,
                       const LineMap& map) {
  std::vector<std::size_t> sources(of_rows ? kernel.data.m : kernel.data.n);
  std::iota(sources.begin(), sources.end(), std::size_t{0});
  for (const auto& [line, source] : map) {
    sources[line] = source;
  }
  const char* const unit = of_rows ? "row" : "column";
  if (cause.empty()) {
    cause = fmt::format("{}-{}s", is_permutation(map) ? "permuted" : "duplicated", unit);
  }
  return moved(
      kernel, parts, std::move(cause), fmt::format("of {} {}", what, map_text_of(map, unit)),
      [sources = std::move(sources), is_second = (parts.c || parts.d) && !of_rows](std::size_t line, std::size_t at) {
        return is_second ? std::pair(line, sources[at]) : std::pair(sources[line], at);
      });
}

}  // namespace sptc::check::kernel
