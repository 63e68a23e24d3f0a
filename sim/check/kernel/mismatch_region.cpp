// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/mismatch_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kListed = 6;  // intervals that are named one by one
/// Lines without a wrong element that are taken for accidents, where those are likely.
constexpr std::size_t kWideGap = 8;
constexpr double kUnlikely = 1e-3;

using Counts = std::vector<std::size_t>;

/// How many wrong elements each row (column) of a rectangle has.
Counts counts_of(const WrongElements& wrong, const Interval& rows, const Interval& columns, bool of_rows) {
  Counts counts(of_rows ? rows.size() : columns.size());
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      counts[of_rows ? i - rows.begin : j - columns.begin] += wrong(i, j);
    }
  }
  return counts;
}

std::size_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Runs of lines with wrong elements, parted by at least `gap` lines without.
Intervals runs_of(const Counts& counts, std::size_t first, std::size_t gap) {
  Intervals runs;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && !runs.empty() && first + i - runs.back().end < gap) {
      runs.back().end = first + i + 1;
    } else if (counts[i] > 0) {
      runs.push_back({first + i, first + i + 1});
    }
  }
  return runs;
}

class Cutter {
 public:
  Cutter(const WrongElements& wrong, std::size_t most) : wrong_(wrong), most_(most) {
    part({0, wrong_.rows()}, {0, wrong_.cols()}, true, false);
  }

  std::vector<Region> regions;
  bool overflowed() const { return regions.size() > most_; }

 private:
  void part_each(const Intervals& runs, const Interval& rows, const Interval& columns, bool by_rows, bool is_whole) {
    for (const Interval& run : runs) {
      by_rows ? part(run, columns, false, is_whole) : part(rows, run, true, is_whole);
    }
  }

  void part(const Interval& rows, const Interval& columns, bool by_rows, bool other_is_whole) {
    const Counts of_rows = counts_of(wrong_, rows, columns, true), of_columns = counts_of(wrong_, rows, columns, false);
    const std::size_t mismatches = sum_of(of_rows);
    if (overflowed() || mismatches == 0) {
      return;
    }
    const auto lines_in = [](const Counts& counts) {
      return static_cast<double>(counts.size()) - static_cast<double>(std::ranges::count(counts, std::size_t{0}));
    };
    const double wrong_rows = lines_in(of_rows), wrong_columns = lines_in(of_columns);
    const double density = static_cast<double>(mismatches) / (wrong_rows * wrong_columns);
    const double accident = std::pow(1 - density, by_rows ? wrong_columns : wrong_rows);
    const Interval whole = by_rows ? rows : columns;
    const Intervals runs = runs_of(by_rows ? of_rows : of_columns, whole.begin, accident < kUnlikely ? 1 : kWideGap);
    const bool is_whole = runs.size() == 1 && runs.front() == whole;
    if (!is_whole || !other_is_whole) {
      part_each(runs, rows, columns, by_rows, is_whole);
      return;
    }
    // Rectangles that touch at a corner leave no line without a wrong element, but their lines begin and end elsewhere.
    for (const bool lines_are_rows : {true, false}) {
      const Intervals alike = alike_lines(rows, columns, lines_are_rows);
      if (alike.size() > 1) {
        part_each(alike, rows, columns, lines_are_rows, false);
        return;
      }
    }
    regions.push_back({{rows}, {columns}, mismatches});
  }

  /// Runs of lines whose first and last wrong elements are about the same; one run where there are many short ones, as
  /// of noise.
  Intervals alike_lines(const Interval& rows, const Interval& columns, bool by_rows) const {
    const Interval &lines = by_rows ? rows : columns, &others = by_rows ? columns : rows;
    Intervals runs;
    Interval extent;
    const auto near = [](std::size_t a, std::size_t b) { return (a > b ? a - b : b - a) < kWideGap; };
    for (std::size_t line = lines.begin; line < lines.end; ++line) {
      Interval own{others.end, others.begin};
      for (std::size_t other = others.begin; other < others.end; ++other) {
        if ((by_rows ? wrong_(line, other) : wrong_(other, line)) != 0) {
          own = {std::min(own.begin, other), other + 1};
        }
      }
      if (own.begin >= own.end) {
        continue;
      }
      if (!runs.empty() && near(own.begin, extent.begin) && near(own.end, extent.end)) {
        extent = {std::min(own.begin, extent.begin), std::max(own.end, extent.end)};
        runs.back().end = line + 1;
      } else {
        extent = own;
        runs.push_back({line, line + 1});
      }
    }
    return runs.size() * kWideGap > lines.size() ? Intervals{lines} : runs;
  }

  const WrongElements& wrong_;
  std::size_t most_;
};

std::vector<Region> joined_by(const std::vector<Region>& parts, Intervals Region::*same, Intervals Region::*other) {
  std::map<Intervals, std::size_t> groups;  // in `result`
  std::vector<Region> result;
  for (const Region& part : parts) {
    const auto [found, is_new] = groups.emplace(part.*same, result.size());
    if (is_new) {
      result.push_back(part);
      continue;
    }
    Region& group = result[found->second];
    std::vector<std::size_t> both;
    std::ranges::set_union(numbers(group.*other), numbers(part.*other), std::back_inserter(both));
    group.*other = intervals_of(both);
    group.mismatches += part.mismatches;
  }
  return result;
}

/// The distance from one of many alike intervals to the next; 0: they are few, or not alike.
std::size_t stride_of(const Intervals& intervals) {
  const std::size_t stride = intervals.size() > kListed ? intervals[1].begin - intervals[0].begin : 0;
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    if (intervals[i].begin - intervals[i - 1].begin != stride || intervals[i].size() != intervals[0].size()) {
      return 0;
    }
  }
  return stride;
}

std::string text_of(const Interval& interval) {
  return interval.size() == 1 ? fmt::format("{}", interval.begin)
                              : fmt::format("{} to {}", interval.begin, interval.end - 1);
}

}  // namespace

std::vector<std::size_t> numbers(const Intervals& intervals) {
  std::vector<std::size_t> result;
  for (const Interval& interval : intervals) {
    for (std::size_t i = interval.begin; i < interval.end; ++i) {
      result.push_back(i);
    }
  }
  return result;
}

Intervals intervals_of(const std::vector<std::size_t>& numbers) {
  Intervals result;
  for (const std::size_t number : numbers) {
    if (!result.empty() && result.back().end == number) {
      ++result.back().end;
    } else {
      result.push_back({number, number + 1});
    }
  }
  return result;
}

std::string text_of(const Intervals& intervals, std::string_view unit, std::size_t count) {
  const std::size_t size = numbers(intervals).size();
  if (size == count) {
    return fmt::format("all {} {}s", count, unit);
  }
  std::string text = fmt::format("{}{} ", unit, size == 1 ? "" : "s");
  if (const std::size_t stride = stride_of(intervals); stride > 0) {
    return text + fmt::format("{} of every {} up to {}", text_of(intervals.front()), stride, intervals.back().end - 1);
  }
  if (intervals.size() > kListed) {
    return text + fmt::format("{}, {} and {} others up to {}", text_of(intervals[0]), text_of(intervals[1]),
                              size - intervals[0].size() - intervals[1].size(), intervals.back().end - 1);
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    text += i == 0 ? "" : i + 1 == intervals.size() ? " and " : ", ";
    text += text_of(intervals[i]);
  }
  return text;
}

bool Region::is_regular() const {
  const auto is_even = [](const Intervals& lines) {
    return std::ranges::adjacent_find(lines, [&](const Interval& a, const Interval& b) {
             return a.size() != lines.front().size() || b.size() > a.size() ||
                    b.begin - a.begin != lines[1].begin - lines[0].begin;
           }) == lines.end();
  };
  return is_even(rows) && is_even(columns);
}

std::string text_of(const Region& region, std::size_t m, std::size_t n) {
  return text_of(region.rows, "row", m) + " x " + text_of(region.columns, "column", n);
}

TilePlace tile_of(const Region& region, std::size_t m, std::size_t n) {
  constexpr std::size_t kLeast = 8;
  const auto fits = [](const Interval& interval, std::size_t count) {
    return interval.size() >= kLeast && interval.size() < count && interval.begin % interval.size() == 0 &&
           (count % interval.size() == 0 || interval.end < count);
  };
  if (!region.is_rectangle() || !fits(region.rows.front(), m) || !fits(region.columns.front(), n)) {
    return {};
  }
  const Interval &rows = region.rows.front(), &columns = region.columns.front();
  return {rows.begin / rows.size(), columns.begin / columns.size(), rows.size(), columns.size()};
}

std::string place_text(const Region& region, const KernelData& data) {
  const TilePlace tile = tile_of(region, data.m, data.n);
  const std::string text = text_of(region, data.m, data.n);
  return tile.height == 0
             ? text
             : fmt::format("{} (tile [{}, {}] of {} x {})", text, tile.row, tile.column, tile.height, tile.width);
}

WrongElements wrong_elements(const base::Matrix<numerics::Word>& computed,
                             const base::Matrix<numerics::Word>& observed) {
  WrongElements wrong(computed.rows(), computed.cols());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    wrong.data()[i] = computed.data()[i] != observed.data()[i] ? 1 : 0;
  }
  return wrong;
}

std::size_t wrong_in(const WrongElements& wrong, const Region& region) {
  std::size_t count = 0;
  region.selection().each([&](std::size_t row, std::size_t column) { count += wrong(row, column); });
  return count;
}

Region bounding_region(const WrongElements& wrong) {
  const Interval rows{0, wrong.rows()}, columns{0, wrong.cols()};
  const Counts of_rows = counts_of(wrong, rows, columns, true);
  const std::size_t all = wrong.rows() + wrong.cols();  // no gap is as long
  return {runs_of(of_rows, 0, all), runs_of(counts_of(wrong, rows, columns, false), 0, all), sum_of(of_rows)};
}

std::vector<Region> parted_regions(const WrongElements& wrong, std::size_t most) {
  Cutter cutter(wrong, most);
  return cutter.overflowed() ? std::vector{bounding_region(wrong)} : std::move(cutter.regions);
}

std::vector<Region> joined_regions(const std::vector<Region>& parts) {
  return joined_by(joined_by(parts, &Region::columns, &Region::rows), &Region::rows, &Region::columns);
}

}  // namespace sptc::check::kernel
