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
  const std::int64_t per_slice = kernel.tiles_m() * kernel.tiles_n();
  const CtaTile tile = kernel.rasterise(begin);
  RasterPiece piece;
  piece.slice = begin / per_slice;
  const std::int64_t index = begin % per_slice;
  piece.first_n = tile.tile_n / kernel.swizzle * kernel.swizzle;
  piece.width = std::min<std::int64_t>(kernel.swizzle, kernel.tiles_n() - piece.first_n);
  piece.first = index - piece.first_n * kernel.tiles_m();
  piece.count = std::min(end - begin, piece.width * kernel.tiles_m() - piece.first);
  return piece;
}

}  // namespace sptc::kernels
