// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/word.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::kernel {

/// Neighbouring rows or columns: [begin, end).
struct Interval {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
  auto operator<=>(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

/// The numbers of `intervals`, in order.
std::vector<std::size_t> numbers(const Intervals& intervals);
/// Increasing `numbers` as few intervals.
Intervals intervals_of(const std::vector<std::size_t>& numbers);

/// "row 5", "rows 64 to 127", "rows 3, 8 to 15 and 40", "all 128 rows", "rows 0 to 7 of
/// every 16 up to 119", "rows 0, 9 and 14 others up to 120"; `unit` is the word for one of them.
std::string text_of(const Intervals& intervals, std::string_view unit, std::size_t count);

/// Rows x columns of D in which elements differ.
struct Region {
  Intervals rows;
  Intervals columns;
  std::size_t mismatches = 0;

  std::size_t elements() const;
  bool is_rectangle() const { return rows.size() == 1 && columns.size() == 1; }
  bool operator==(const Region&) const = default;
};

/// "rows 64 to 127 x columns 32 to 63", of an m x n matrix.
std::string text_of(const Region& region, std::size_t m, std::size_t n);

/// Where in a matrix of tiles `region` is one whole tile: its extents divide where it begins.
struct TilePlace {
  std::size_t row = 0, column = 0;  ///< of the tile, counted in tiles
  std::size_t height = 0, width = 0;
};
/// Nothing of height 0 where it is none. The last tile of a row or column may be cut off.
TilePlace tile_of(const Region& region, std::size_t m, std::size_t n);

/// Rows and columns at whose multiples tiles may begin.
inline constexpr std::size_t kTileStep = 8;

/// Moves `rectangle` by whole tile steps through an m x n matrix, row after row. Returns the first
/// place at which `holds(row, column)` is true.
template <typename Holds>
std::optional<Region> find_other_place(const Region& rectangle, std::size_t m, std::size_t n,
                                       const Holds& holds) {
  const Interval rows = rectangle.rows.front(), columns = rectangle.columns.front();
  for (std::size_t row = rows.begin % kTileStep; row + rows.size() <= m; row += kTileStep) {
    for (std::size_t column = columns.begin % kTileStep; column + columns.size() <= n;
         column += kTileStep) {
      if (holds(row, column)) {
        return Region{{{row, row + rows.size()}}, {{column, column + columns.size()}}, 0};
      }
    }
  }
  return std::nullopt;
}

/// Elements of D, 1 where they differ.
using WrongElements = base::Matrix<std::uint8_t>;
WrongElements wrong_elements(const base::Matrix<numerics::Word>& computed,
                             const base::Matrix<numerics::Word>& observed);

/// The smallest region with all wrong elements.
Region bounding_region(const WrongElements& wrong);

/// The regions that lines without a wrong element part (the X-Y cut of document analysis, Nagy and
/// Seth 1984), single rectangles. A line whose few elements may be equal by chance parts nothing.
/// One region of everything where there would be more than `most`.
std::vector<Region> parted_regions(const WrongElements& wrong, std::size_t most);

/// The same with rectangles of the same columns, and then of the same rows, as one region.
std::vector<Region> joined_regions(const std::vector<Region>& parts);

}  // namespace sptc::check::kernel
