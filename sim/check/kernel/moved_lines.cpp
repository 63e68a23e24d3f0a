// SPDX-License-Identifier: Apache-2.0
//
// Words of D that are right, but stand in the wrong place.
#include "models/numerics/codec.h"
#include "sim/check/kernel/fault_finders.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using WordMatrix = base::Matrix<Word>;

constexpr std::size_t kListed = 4;      // pairs that are named one by one
constexpr std::size_t kLeastTile = 64;  // elements

std::uint64_t hash_of(const WordMatrix& words, std::size_t row,
                      const std::vector<std::size_t>& columns) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const std::size_t column : columns) {
    hash = (hash ^ words(row, column)) * 0x100000001B3;
  }
  return hash;
}

bool equal_lines(const WordMatrix& a, std::size_t row_a, const WordMatrix& b, std::size_t row_b,
                 const std::vector<std::size_t>& columns) {
  return std::ranges::all_of(
      columns, [&](std::size_t column) { return a(row_a, column) == b(row_b, column); });
}

/// For each wrong row of `rows` the one of `computed` with its words; nothing where one has none.
std::optional<LineMap> moved_rows(const WordMatrix& observed, const WordMatrix& computed,
                                  const std::vector<std::size_t>& rows,
                                  const std::vector<std::size_t>& columns) {
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_words;
  for (std::size_t row = 0; row < computed.rows(); ++row) {
    by_words[hash_of(computed, row, columns)].push_back(row);
  }
  LineMap map;
  for (const std::size_t row : rows) {
    if (equal_lines(observed, row, computed, row, columns)) {
      continue;
    }
    const auto found = by_words.find(hash_of(observed, row, columns));
    if (found == by_words.end()) {
      return std::nullopt;
    }
    const auto source = std::ranges::find_if(found->second, [&](std::size_t candidate) {
      return equal_lines(observed, row, computed, candidate, columns);
    });
    if (source == found->second.end()) {
      return std::nullopt;
    }
    map.emplace_back(row, *source);
  }
  return map.empty() ? std::nullopt : std::optional(std::move(map));
}

Intervals first_lines(const LineMap& map) {
  std::vector<std::size_t> lines;
  for (const auto& entry : map) {
    lines.push_back(entry.first);
  }
  return intervals_of(lines);
}

std::optional<RegionFault> find_moved_lines(const RegionTrial& trial, bool of_rows) {
  const WrongKernel& kernel = trial.kernel();
  const Selection& all = trial.selection();
  if (!trial.tells_apart(static_cast<double>(of_rows ? kernel.data.m : kernel.data.n))) {
    return std::nullopt;
  }
  const auto map = of_rows ? moved_rows(kernel.observed(), kernel.computed, all.rows, all.columns)
                           : moved_rows(kernel.observed().transposed(),
                                        kernel.computed.transposed(), all.columns, all.rows);
  if (!map) {
    return std::nullopt;
  }
  const std::string_view unit = of_rows ? "row" : "column";
  return RegionFault{fmt::format("{}-{}s", is_permutation(*map) ? "permuted" : "duplicated", unit),
                     "of D " + describe_moved(*map, unit)};
}

/// Whether element (i, j) of a rectangle of D is that of the computed D at `source(i, j)`, counted
/// from the corner of the rectangle and from that of D.
template <typename Source>
bool holds_words(const WrongKernel& kernel, const Region& rectangle, const Source& source) {
  const Interval rows = rectangle.rows.front(), columns = rectangle.columns.front();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const auto [row, column] = source(i, j);
      if (kernel.observed()(rows.begin + i, columns.begin + j) != kernel.computed(row, column)) {
        return false;
      }
    }
  }
  return true;
}

/// Where else in the computed D the words of a rectangle stand, or whether it is transposed.
std::optional<RegionFault> find_moved_tile(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  const Region& region = trial.region();
  if (!region.is_rectangle() || region.elements() < kLeastTile) {
    return std::nullopt;
  }
  const auto place = find_other_place(
      region, kernel.data.m, kernel.data.n, [&](std::size_t row, std::size_t column) {
        return holds_words(kernel, region, [&](std::size_t i, std::size_t j) {
          return std::pair(row + i, column + j);
        });
      });
  if (place) {
    return RegionFault{"moved-tile", "D holds the tile of " +
                                         text_of(*place, kernel.data.m + 1, kernel.data.n + 1)};
  }
  const Interval rows = region.rows.front(), columns = region.columns.front();
  if (rows.size() == columns.size() &&
      holds_words(kernel, region, [&](std::size_t i, std::size_t j) {
        return std::pair(rows.begin + j, columns.begin + i);
      })) {
    return RegionFault{"transposed-tile", "D is transposed within the tile"};
  }
  return std::nullopt;
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

/// Numbers that a factor may be, where the strongest element has become `ratio` times itself.
std::vector<float> factors_near(double ratio, DataType d_type) {
  std::vector<float> factors;
  int exponent = 0;
  const double mantissa = std::frexp(ratio, &exponent);
  constexpr int kShortBits = 8;
  factors.push_back(static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(mantissa, kShortBits)), exponent - kShortBits)));
  const auto nearest = static_cast<float>(ratio);
  if (d_type == DataType::kF32) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    factors.insert(factors.end(), {nearest, std::nextafter(nearest, kInfinity),
                                   std::nextafter(nearest, -kInfinity)});
  }
  return factors;
}

/// The factor that makes the computed words of a line those that the kernel returned; nothing where
/// no single one does.
std::optional<float> factor_of_line(const RegionTrial& trial, std::size_t line, bool is_row) {
  const WrongKernel& kernel = trial.kernel();
  const DataType type = kernel.data.d_type;
  const auto& others = is_row ? trial.selection().columns : trial.selection().rows;
  const auto word = [&](const WordMatrix& words, std::size_t other) {
    return is_row ? words(line, other) : words(other, line);
  };
  const auto value = [&](const WordMatrix& words, std::size_t other) {
    return numerics::to_double(word(words, other), type);
  };
  const auto largest = std::ranges::max_element(others, {}, [&](std::size_t other) {
    const double size = std::fabs(value(kernel.computed, other));
    return std::isfinite(size) ? size : 0;
  });
  const double ratio = value(kernel.observed(), *largest) / value(kernel.computed, *largest);
  if (!std::isfinite(ratio) || ratio == 0) {
    return std::nullopt;
  }
  for (const float factor : factors_near(ratio, type)) {
    int exponent = 0;
    // Words that were rounded to a short type are multiplied exactly by powers of two alone.
    const bool is_exact = type == DataType::kF32 || std::frexp(factor, &exponent) == 0.5F;
    if (is_exact && std::ranges::all_of(others, [&](std::size_t other) {
          const auto product = static_cast<float>(value(kernel.computed, other)) * factor;
          return numerics::from_double(product, type) == word(kernel.observed(), other);
        })) {
      return factor;
    }
  }
  return std::nullopt;
}

/// Lines with factors of their own: "rows 0 to 63 are 0.5 times, rows 64 to 127 2 times ...".
std::optional<RegionFault> find_factors_of_lines(const RegionTrial& trial, bool of_rows) {
  constexpr std::size_t kLeastOthers = 4;  // elements of a line that tell its factor
  const auto& lines = of_rows ? trial.selection().rows : trial.selection().columns;
  const auto& others = of_rows ? trial.selection().columns : trial.selection().rows;
  const std::string_view unit = of_rows ? "row" : "column";
  if (others.size() < kLeastOthers || lines.size() < 2) {
    return std::nullopt;
  }
  std::map<float, std::vector<std::size_t>> by_factor;
  for (const std::size_t line : lines) {
    const auto factor = factor_of_line(trial, line, of_rows);
    if (!factor) {
      return std::nullopt;
    }
    by_factor[*factor].push_back(line);
  }
  if (by_factor.size() > kListed) {
    return RegionFault{"scale",
                       fmt::format("each {} of D has a factor of its own, from {} to {}", unit,
                                   by_factor.begin()->first, by_factor.rbegin()->first)};
  }
  std::string text;
  for (const auto& [factor, same] : by_factor) {
    text += fmt::format("{}{} of D are {} times", text.empty() ? "" : ", ",
                        text_of(intervals_of(same), unit, lines.size() + 1), factor);
  }
  return RegionFault{"scale", text + " what they should be"};
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
  const std::size_t flip = map.front().first ^ map.front().second;
  return std::ranges::all_of(
             map, [&](const auto& entry) { return (entry.first ^ entry.second) == flip; })
             ? std::optional(flip)
             : std::nullopt;
}

std::optional<std::ptrdiff_t> common_shift(const LineMap& map) {
  const auto shift_of = [](const auto& entry) {
    return static_cast<std::ptrdiff_t>(entry.second) - static_cast<std::ptrdiff_t>(entry.first);
  };
  const std::ptrdiff_t shift = shift_of(map.front());
  return std::ranges::all_of(map, [&](const auto& entry) { return shift_of(entry) == shift; })
             ? std::optional(shift)
             : std::nullopt;
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

std::optional<RegionFault> find_constant(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  const Selection& all = trial.selection();
  constexpr std::size_t kLeast = 4;
  const Word word = kernel.observed()(all.rows.front(), all.columns.front());
  const DataType type = kernel.data.d_type;
  const bool is_zero = numerics::to_double(word, type) == 0;
  for (const std::size_t row : all.rows) {
    for (const std::size_t column : all.columns) {
      const Word other = kernel.observed()(row, column);
      if (is_zero ? numerics::to_double(other, type) != 0 : other != word) {
        return std::nullopt;
      }
    }
  }
  if (trial.region().mismatches < kLeast) {
    return std::nullopt;
  }
  if (is_zero) {
    return RegionFault{"zero-region", "D is zero: nobody wrote it, or nothing was added up"};
  }
  return RegionFault{"unwritten-region",
                     fmt::format("D holds {} everywhere: nobody wrote it",
                                 vectors::hex_bits(word, vectors::element_bytes(type)))};
}

std::optional<RegionFault> find_moved(const RegionTrial& trial) {
  const auto fault = first_found(std::array{true, false},
                                 [&](bool of_rows) { return find_moved_lines(trial, of_rows); });
  return fault ? fault : find_moved_tile(trial);
}

std::optional<RegionFault> find_factor(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  constexpr double kCandidates = 1 << 16;
  if (kernel.model.rules.is_integer() || trial.strongest().empty() ||
      !trial.tells_apart(kCandidates)) {
    return std::nullopt;
  }
  const DataType type = kernel.data.d_type;
  // The largest finite element says most of the factor.
  double largest = 0, ratio = 0;
  for (const auto& [row, column] : trial.strongest()) {
    const double got = numerics::to_double(kernel.observed()(row, column), type);
    const double want = numerics::to_double(kernel.computed(row, column), type);
    if (std::isfinite(got) && std::isfinite(want) && got != 0 && std::fabs(want) > largest) {
      largest = std::fabs(want);
      ratio = got / want;
    }
  }
  if (largest == 0) {
    return std::nullopt;
  }
  std::vector<Hypothesis> hypotheses;
  for (const float factor : factors_near(ratio, type)) {
    if (factor != 1) {
      KernelModel model = kernel.model;
      model.epilogue.scale_d *= factor;
      hypotheses.push_back(
          {{"scale", fmt::format("D is {} times what it should be", factor)}, {}, model});
    }
  }
  const auto fault = trial.first_that_fits(hypotheses, kCandidates);
  return fault ? fault : first_found(std::array{true, false}, [&](bool of_rows) {
    return find_factors_of_lines(trial, of_rows);
  });
}

}  // namespace sptc::check::kernel
