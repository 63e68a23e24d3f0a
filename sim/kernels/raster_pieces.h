// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"

#include <algorithm>
#include <cstdint>

namespace sptc::kernels {

/// Neighbouring CTAs of the rasterisation: cells `first` to `first + count` (exclusive), row after
/// row, of a group of columns that is `width` tiles wide, of one slice of one GEMM of the batch.
struct RasterPiece {
  std::int64_t slice = 0;  ///< batch * split_k + slice of K
  std::int64_t first_n = 0, width = 0;
  std::int64_t first = 0, count = 0;

  std::int64_t first_row() const { return first / width; }
  std::int64_t last_row() const { return (first + count - 1) / width; }
  /// Whether some CTA of the piece works in column `column` of the group.
  bool has_column(std::int64_t column) const {
    return count >= width || (column - first % width + width) % width < count;
  }
  std::int64_t ctas_in_row(std::int64_t row) const {
    return std::max<std::int64_t>(0, std::min(first + count, (row + 1) * width) - std::max(first, row * width));
  }
  /// CTAs in a column of the group.
  std::int64_t ctas_in_column(std::int64_t column) const {
    // Cells below n that stand in the column.
    const auto below = [&](std::int64_t n) { return (n + width - 1 - column) / width; };
    return below(first + count) - below(first);
  }
};

/// The piece that begins with CTA `begin` and ends at `end` (exclusive) or before.
inline RasterPiece first_piece(const GemmKernel& kernel, std::int64_t begin, std::int64_t end) {
  const std::int64_t tiles_m = kernel.tiles_m();
  const std::int64_t tiles_n = kernel.tiles_n();
  const std::int64_t per_slice = tiles_m * tiles_n;
  RasterPiece piece;
  piece.slice = begin / per_slice;
  const std::int64_t index = begin - piece.slice * per_slice;
  piece.first_n = index / (kernel.swizzle * tiles_m) * kernel.swizzle;
  piece.width = std::min<std::int64_t>(kernel.swizzle, tiles_n - piece.first_n);
  piece.first = index - piece.first_n * tiles_m;
  piece.count = std::min(end - begin, piece.width * tiles_m - piece.first);
  return piece;
}

/// CTAs `begin` to `end` (exclusive) in pieces, in order.
template <typename Visit>
void for_each_piece(const GemmKernel& kernel, std::int64_t begin, std::int64_t end, Visit&& visit) {
  while (begin < end) {
    const RasterPiece piece = first_piece(kernel, begin, end);
    visit(piece);
    begin += piece.count;
  }
}

}  // namespace sptc::kernels
