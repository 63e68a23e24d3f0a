// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that are right, but stand in the wrong place.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/line_map.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sptc::check::kernel::hypotheses {

using numerics::Word;

Proposals moved_lines(const Trial& at, bool of_rows) {
  const WrongKernel& kernel = at.kernel();
  const auto& lines = of_rows ? at.selection().rows : at.selection().columns;
  const auto& others = of_rows ? at.selection().columns : at.selection().rows;
  const std::size_t count = of_rows ? kernel.data.m : kernel.data.n;
  if (!at.tells_apart(static_cast<double>(count))) {
    return {};
  }
  const auto word = [&](const base::Matrix<Word>& words, std::size_t line, std::size_t other) {
    return of_rows ? words(line, other) : words(other, line);
  };
  const auto hash_of = [&](const base::Matrix<Word>& words, std::size_t line) {
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (const std::size_t other : others) {
      hash = (hash ^ word(words, line, other)) * 0x100000001B3;
    }
    return hash;
  };
  std::unordered_map<std::uint64_t, std::size_t> by_words;  // the first line of these
  for (std::size_t line = 0; line < count; ++line) {
    by_words.emplace(hash_of(kernel.computed, line), line);
  }
  LineMap map;
  for (const std::size_t line : lines) {
    const std::uint64_t hash = hash_of(kernel.observed(), line);
    const auto source = by_words.find(hash);
    if (source != by_words.end() && hash != hash_of(kernel.computed, line)) {
      map.emplace_back(line, source->second);
    }
  }
  if (map.empty()) {
    return {};
  }
  const std::string_view unit = of_rows ? "row" : "column";
  Hypothesis moved{fmt::format("{}-{}s", is_permutation(map) ? "permuted" : "duplicated", unit),
                   "of D " + describe_moved(map, unit)};
  moved.word = [&kernel, of_rows, sources = sources_of(map, count)](std::size_t row,
                                                                    std::size_t column) {
    return of_rows ? kernel.computed(sources[row], column) : kernel.computed(row, sources[column]);
  };
  return {{moved}, static_cast<double>(count)};
}

// A tile of D that stands elsewhere, or is transposed.

namespace {

/// Where the word of the element (i, j) of a tile stands in the computed D.
using Source = std::function<std::pair<std::size_t, std::size_t>(std::size_t i, std::size_t j)>;

/// Whether every open element of the place has the word at its source.
bool holds(const Trial& at, const Source& source) {
  const WrongKernel& kernel = at.kernel();
  const std::size_t top = at.selection().rows.front(), left = at.selection().columns.front();
  for (const std::size_t row : at.selection().rows) {
    for (const std::size_t column : at.selection().columns) {
      const auto [from_row, from_column] = source(row - top, column - left);
      if (kernel.explained(row, column) == 0 &&
          !kernel.agrees(row, column, kernel.computed(from_row, from_column),
                         kernel.observed()(row, column))) {
        return false;
      }
    }
  }
  return true;
}

Hypothesis from(const Trial& at, const char* cause, std::string text, Source source) {
  Hypothesis moved{cause, std::move(text)};
  moved.word = [&kernel = at.kernel(), source = std::move(source),
                top = at.selection().rows.front(),
                left = at.selection().columns.front()](std::size_t row, std::size_t column) {
    const auto [from_row, from_column] = source(row - top, column - left);
    return kernel.computed(from_row, from_column);
  };
  return moved;
}

}  // namespace

Proposals moved_tile(const Trial& at) {
  constexpr std::size_t kLeast = 64;  // elements
  const WrongKernel& kernel = at.kernel();
  const Region& region = at.region();
  if (!region.is_rectangle() || region.elements() < kLeast) {
    return {};
  }
  const auto tile_at = [](std::size_t row, std::size_t column) -> Source {
    return [=](std::size_t i, std::size_t j) { return std::pair(row + i, column + j); };
  };
  const auto place = find_other_place(
      region, kernel.data.m, kernel.data.n,
      [&](std::size_t row, std::size_t column) { return holds(at, tile_at(row, column)); });
  if (place) {
    return {{from(at, "moved-tile",
                  "D holds the tile of " + text_of(*place, kernel.data.m + 1, kernel.data.n + 1),
                  tile_at(place->rows.front().begin, place->columns.front().begin))}};
  }
  const Interval rows = region.rows.front(), columns = region.columns.front();
  if (rows.size() != columns.size()) {
    return {};
  }
  return {{from(
      at, "transposed-tile", "D is transposed within the tile",
      [=](std::size_t i, std::size_t j) { return std::pair(rows.begin + j, columns.begin + i); })}};
}

}  // namespace sptc::check::kernel::hypotheses
