// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/line_map.h"

#include "sim/check/kernel/mismatch_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kListed = 4;  // pairs that are named one by one

/// What `of(line, source)` is for all entries of `map`; nothing where it is not the same.
template <typename Of>
auto common(const LineMap& map, const Of& of) {
  const auto first = of(map.front().first, map.front().second);
  const bool is_common = std::ranges::all_of(
      map, [&](const auto& entry) { return of(entry.first, entry.second) == first; });
  return is_common ? std::optional(first) : std::nullopt;
}

Intervals first_lines(const LineMap& map) {
  std::vector<std::size_t> lines;
  for (const auto& entry : map) {
    lines.push_back(entry.first);
  }
  return intervals_of(lines);
}

/// "i ^ 8" or "i + 64" where one formula says all of `map`.
std::optional<std::string> formula_of(const LineMap& map) {
  if (const auto flip = common_flip(map); flip && is_permutation(map)) {
    return fmt::format("i ^ {}", *flip);
  }
  if (const auto shift = common_shift(map)) {
    return fmt::format("i {} {}", *shift < 0 ? '-' : '+', std::abs(*shift));
  }
  return std::nullopt;
}

}  // namespace

bool is_permutation(const LineMap& map) {
  std::set<std::size_t> lines, sources;
  for (const auto& [line, source] : map) {
    lines.insert(line);
    sources.insert(source);
  }
  return lines == sources;
}

std::optional<std::size_t> common_flip(const LineMap& map) {
  return common(map, [](std::size_t line, std::size_t source) { return line ^ source; });
}

std::optional<std::ptrdiff_t> common_shift(const LineMap& map) {
  return common(map, [](std::size_t line, std::size_t source) {
    return static_cast<std::ptrdiff_t>(source) - static_cast<std::ptrdiff_t>(line);
  });
}

std::string describe_moved(const LineMap& map, std::string_view unit) {
  const Intervals lines = first_lines(map);
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  if (map.size() == 2 && is_permutation(map)) {
    return fmt::format("{}s {} and {} are exchanged", unit, map[0].first, map[1].first);
  }
  if (map.size() == 1) {
    return fmt::format("{} {} holds {} {}", unit, map[0].first, unit, map[0].second);
  }
  if (std::ranges::all_of(map, [&](const auto& entry) { return entry.second == map[0].second; })) {
    return fmt::format("{} all hold {} {}", text_of(lines, unit, kAny), unit, map[0].second);
  }
  if (const auto formula = formula_of(map)) {
    return fmt::format("{} i holds {} {}, for {}", unit, unit, *formula,
                       text_of(lines, unit, kAny));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, map.size()); ++i) {
    text += fmt::format("{}{} {} holds {} {}", i == 0 ? "" : ", ", unit, map[i].first, unit,
                        map[i].second);
  }
  return text +
         (map.size() > kListed ? fmt::format(" and so on, {} {}s in all", map.size(), unit) : "");
}

std::vector<std::size_t> sources_of(const LineMap& map, std::size_t count) {
  std::vector<std::size_t> sources(count);
  std::iota(sources.begin(), sources.end(), std::size_t{0});
  for (const auto& [line, source] : map) {
    sources[line] = source;
  }
  return sources;
}

}  // namespace sptc::check::kernel
