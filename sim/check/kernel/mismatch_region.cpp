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

/// How many wrong elements each line of a rectangle has.
std::vector<std::size_t> counts_of(const WrongElements& wrong, const Interval& rows,
                                   const Interval& columns, bool of_rows) {
  std::vector<std::size_t> counts(of_rows ? rows.size() : columns.size());
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      counts[of_rows ? i - rows.begin : j - columns.begin] += wrong(i, j);
    }
  }
  return counts;
}

double lines_in(const std::vector<std::size_t>& counts) {
  return static_cast<double>(counts.size()) -
         static_cast<double>(std::ranges::count(counts, std::size_t{0}));
}

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Runs of lines with wrong elements, parted by at least `gap` lines without.
Intervals runs_of(const std::vector<std::size_t>& counts, std::size_t first, std::size_t gap) {
  Intervals runs;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) {
      continue;
    }
    if (!runs.empty() && first + i - runs.back().end < gap) {
      runs.back().end = first + i + 1;
    } else {
      runs.push_back({first + i, first + i + 1});
    }
  }
  return runs;
}

class Cutter {
 public:
  Cutter(const WrongElements& wrong, std::size_t most) : wrong_(wrong), most_(most) {}

  std::vector<Region> cut() {
    part({0, wrong_.rows()}, {0, wrong_.cols()}, true, false);
    return std::move(regions_);
  }
  bool overflowed() const { return overflowed_; }

 private:
  void part(const Interval& rows, const Interval& columns, bool by_rows, bool other_is_whole) {
    if (overflowed_) {
      return;
    }
    const auto of_rows = counts_of(wrong_, rows, columns, true);
    const auto of_columns = counts_of(wrong_, rows, columns, false);
    const std::size_t mismatches = sum_of(of_rows);
    if (mismatches == 0) {
      return;
    }
    const double wrong_rows = lines_in(of_rows), wrong_columns = lines_in(of_columns);
    const double density = static_cast<double>(mismatches) / (wrong_rows * wrong_columns);
    const double accident = std::pow(1 - density, by_rows ? wrong_columns : wrong_rows);
    const Intervals runs =
        runs_of(by_rows ? of_rows : of_columns, by_rows ? rows.begin : columns.begin,
                accident < kUnlikely ? 1 : kWideGap);
    const Interval whole = by_rows ? rows : columns;
    const bool is_whole = runs.size() == 1 && runs.front() == whole;
    if (is_whole && other_is_whole) {
      if (!part_by_extent(rows, columns)) {
        regions_.push_back({{rows}, {columns}, mismatches});
        overflowed_ = regions_.size() > most_;
      }
      return;
    }
    for (const Interval& run : runs) {
      by_rows ? part(run, columns, false, is_whole) : part(rows, run, true, is_whole);
    }
  }

  /// Rectangles that touch at a corner leave no line without a wrong element, but their lines begin
  /// and end elsewhere. Whether there are such.
  bool part_by_extent(const Interval& rows, const Interval& columns) {
    for (const bool by_rows : {true, false}) {
      const Intervals runs = alike_lines(rows, columns, by_rows);
      if (runs.size() < 2) {
        continue;
      }
      for (const Interval& run : runs) {
        by_rows ? part(run, columns, false, false) : part(rows, run, true, false);
      }
      return true;
    }
    return false;
  }

  /// The first and last wrong element of a line, [begin, end); empty where it has none.
  Interval extent_of(std::size_t line, const Interval& others, bool is_row) const {
    Interval extent{others.end, others.begin};
    for (std::size_t other = others.begin; other < others.end; ++other) {
      if ((is_row ? wrong_(line, other) : wrong_(other, line)) != 0) {
        extent.begin = std::min(extent.begin, other);
        extent.end = other + 1;
      }
    }
    return extent;
  }

  /// Runs of lines with about the same extent; one run where there are many short ones, as of
  /// noise.
  Intervals alike_lines(const Interval& rows, const Interval& columns, bool by_rows) const {
    const Interval& lines = by_rows ? rows : columns;
    Intervals runs;
    Interval extent;
    const auto near = [](std::size_t a, std::size_t b) {
      return (a > b ? a - b : b - a) < kWideGap;
    };
    for (std::size_t line = lines.begin; line < lines.end; ++line) {
      const Interval own = extent_of(line, by_rows ? columns : rows, by_rows);
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
    const bool is_noise = runs.size() * kWideGap > lines.size();
    return is_noise ? Intervals{lines} : runs;
  }

  const WrongElements& wrong_;
  std::size_t most_;
  bool overflowed_ = false;
  std::vector<Region> regions_;
};

Intervals united(const Intervals& a, const Intervals& b) {
  std::vector<std::size_t> both;
  std::ranges::set_union(numbers(a), numbers(b), std::back_inserter(both));
  return intervals_of(both);
}

std::vector<Region> joined_by(const std::vector<Region>& parts, Intervals Region::*same,
                              Intervals Region::*other) {
  std::map<Intervals, std::size_t> groups;  // in `result`
  std::vector<Region> result;
  for (const Region& part : parts) {
    const auto [found, is_new] = groups.emplace(part.*same, result.size());
    if (is_new) {
      result.push_back(part);
    } else {
      Region& group = result[found->second];
      group.*other = united(group.*other, part.*other);
      group.mismatches += part.mismatches;
    }
  }
  return result;
}

std::size_t size_of(const Intervals& intervals) {
  std::size_t size = 0;
  for (const Interval& interval : intervals) {
    size += interval.size();
  }
  return size;
}

/// From one of many alike intervals to the next; 0: they are few, or not alike.
std::size_t stride_of(const Intervals& intervals) {
  if (intervals.size() <= kListed) {
    return 0;
  }
  const std::size_t stride = intervals[1].begin - intervals[0].begin;
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    if (intervals[i].begin - intervals[i - 1].begin != stride ||
        intervals[i].size() != intervals[0].size()) {
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
  const std::size_t size = size_of(intervals);
  if (size == count) {
    return fmt::format("all {} {}s", count, unit);
  }
  std::string text = fmt::format("{}{} ", unit, size == 1 ? "" : "s");
  if (const std::size_t stride = stride_of(intervals); stride > 0) {
    return text + fmt::format("{} of every {} up to {}", text_of(intervals.front()), stride,
                              intervals.back().end - 1);
  }
  if (intervals.size() > kListed) {
    const std::size_t shown = intervals[0].size() + intervals[1].size();
    return text + fmt::format("{}, {} and {} others up to {}", text_of(intervals[0]),
                              text_of(intervals[1]), size - shown, intervals.back().end - 1);
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    text += i == 0 ? "" : i + 1 == intervals.size() ? " and " : ", ";
    text += text_of(intervals[i]);
  }
  return text;
}

std::size_t Region::elements() const {
  return size_of(rows) * size_of(columns);
}

std::string text_of(const Region& region, std::size_t m, std::size_t n) {
  return text_of(region.rows, "row", m) + " x " + text_of(region.columns, "column", n);
}

TilePlace tile_of(const Region& region, std::size_t m, std::size_t n) {
  constexpr std::size_t kLeast = 8;
  if (!region.is_rectangle()) {
    return {};
  }
  const Interval& rows = region.rows.front();
  const Interval& columns = region.columns.front();
  const auto fits = [](const Interval& interval, std::size_t count) {
    return interval.size() >= kLeast && interval.size() < count &&
           interval.begin % interval.size() == 0 &&
           (count % interval.size() == 0 || interval.end < count);
  };
  if (!fits(rows, m) || !fits(columns, n)) {
    return {};
  }
  return {rows.begin / rows.size(), columns.begin / columns.size(), rows.size(), columns.size()};
}

WrongElements wrong_elements(const base::Matrix<numerics::Word>& computed,
                             const base::Matrix<numerics::Word>& observed) {
  WrongElements wrong(computed.rows(), computed.cols());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    wrong.data()[i] = computed.data()[i] != observed.data()[i] ? 1 : 0;
  }
  return wrong;
}

Region bounding_region(const WrongElements& wrong) {
  const Interval rows{0, wrong.rows()};
  const Interval columns{0, wrong.cols()};
  const auto of_rows = counts_of(wrong, rows, columns, true);
  const auto of_columns = counts_of(wrong, rows, columns, false);
  const std::size_t all = wrong.rows() + wrong.cols();  // no gap is as long
  return {runs_of(of_rows, 0, all), runs_of(of_columns, 0, all), sum_of(of_rows)};
}

std::vector<Region> parted_regions(const WrongElements& wrong, std::size_t most) {
  Cutter cutter(wrong, most);
  std::vector<Region> regions = cutter.cut();
  if (cutter.overflowed()) {
    return {bounding_region(wrong)};
  }
  return regions;
}

std::vector<Region> joined_regions(const std::vector<Region>& parts) {
  return joined_by(joined_by(parts, &Region::columns, &Region::rows), &Region::rows,
                   &Region::columns);
}

}  // namespace sptc::check::kernel
