// SPDX-License-Identifier: Apache-2.0
//
// Places of D: rows x columns in which elements differ, how they are found and what they are called.
#pragma once

#include "sim/check/kernel/kernel_model.h"

#include <string>

namespace sptc::check::kernel {

/// Neighbouring rows or columns: [begin, end).
struct Interval {
  std::size_t begin = 0, end = 0;

  std::size_t size() const { return end - begin; }
  auto operator<=>(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

/// The numbers of `intervals`, in order.
std::vector<std::size_t> numbers(const Intervals& intervals);
/// Increasing `numbers` as few intervals.
Intervals intervals_of(const std::vector<std::size_t>& numbers);

/// "row 5", "rows 64 to 127", "rows 3, 8 to 15 and 40", "all 128 rows", "rows 0 to 7 of every 16 up to 119", "rows 0, 9
/// and 14 others up to 120"; `unit` is the word for one of them, `count` how many there are; 0: all are never meant.
std::string text_of(const Intervals& intervals, std::string_view unit, std::size_t count);

/// Rows x columns of D in which elements differ.
struct Region {
  Intervals rows, columns;
  std::size_t mismatches = 0;

  std::size_t elements() const { return selection().elements(); }
  Selection selection() const { return {numbers(rows), numbers(columns)}; }
  /// Whether its lines are neighbours or evenly spaced.
  bool is_regular() const;
  bool is_rectangle() const { return rows.size() == 1 && columns.size() == 1; }
  bool operator==(const Region&) const = default;
};

/// "rows 64 to 127 x columns 32 to 63", of an m x n matrix; 0 x 0: where all lines are named.
std::string text_of(const Region& region, std::size_t m = 0, std::size_t n = 0);

/// Where in a matrix of tiles `region` is one whole tile: its extents divide where it begins. Of height 0 where it is
/// none. The last tile of a row or column may be cut off.
struct TilePlace {
  std::size_t row = 0, column = 0;  ///< counted in tiles
  std::size_t height = 0, width = 0;
};
TilePlace tile_of(const Region& region, std::size_t m, std::size_t n);
/// "rows 64 to 127 x columns 32 to 63 (tile [1, 1] of 64 x 32)".
std::string place_text(const Region& region, const KernelData& data);

/// Elements of D, 1 where they differ.
using WrongElements = base::Matrix<std::uint8_t>;
WrongElements wrong_elements(const base::Matrix<numerics::Word>& computed,
                             const base::Matrix<numerics::Word>& observed);
std::size_t wrong_in(const WrongElements& wrong, const Region& region);

/// The smallest region with all wrong elements.
Region bounding_region(const WrongElements& wrong);
/// The regions that lines without a wrong element part (the X-Y cut of document analysis, Nagy and Seth 1984), single
/// rectangles. A line whose few elements may be equal by chance parts nothing. One region of everything where there
/// would be more than `most`.
std::vector<Region> parted_regions(const WrongElements& wrong, std::size_t most);
/// The same with rectangles of the same columns, and then of the same rows, as one region.
std::vector<Region> joined_regions(const std::vector<Region>& parts);

}  // namespace sptc::check::kernel
