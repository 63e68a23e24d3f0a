// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/raster_pieces.h"

#include <algorithm>

namespace sptc::kernels {

std::int64_t RasterPiece::ctas_in_row(std::int64_t row) const {
  return std::max<std::int64_t>(
      0, std::min(first + count, (row + 1) * width) - std::max(first, row * width));
}

std::int64_t RasterPiece::ctas_in_column(std::int64_t column) const {
  // Cells below n that stand in the column.
  const auto below = [&](std::int64_t n) { return (n + width - 1 - column) / width; };
  return below(first + count) - below(first);
}

RasterPiece first_piece(const GemmKernel& kernel, std::int64_t begin, std::int64_t end) {
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

}  // namespace sptc::kernels
