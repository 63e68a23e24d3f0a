// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/raster_pieces.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace sptc::kernels {
namespace {

using numerics::DataType;

TEST(Rasterise, GivesEveryTileOfEveryGemmToExactlyOneCta) {
  for (const auto& [m, n] : {std::pair{1, 1}, {64, 5000}, {5000, 64}, {2048, 2048}, {1111, 3333}}) {
    const GemmKernel kernel = kernel_for(problem(m, n, 64, false, DataType::kF16, 3));
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
    for (std::int64_t cta = 0; cta < kernel.ctas(); ++cta) {
      const CtaTile tile = kernel.rasterise(cta);
      EXPECT_GE(tile.tile_m, 0);
      EXPECT_LT(tile.tile_m, kernel.tiles_m());
      EXPECT_GE(tile.tile_n, 0);
      EXPECT_LT(tile.tile_n, kernel.tiles_n());
      EXPECT_LT(tile.batch, 3);
      seen.insert({tile.batch, tile.tile_m, tile.tile_n});
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), kernel.ctas()) << m << "x" << n;
    EXPECT_EQ(kernel.ctas(), 3 * kernel.tiles_m() * kernel.tiles_n());
  }
}

TEST(RasterPieces, HoldTheCtasThatTheRasterisationPutsThere) {
  GemmKernel kernel = kernel_for(problem(1000, 3000, 512), {base::GemmShape{128, 128, 64}, {}, {}});
  kernel.problem.batch = 2;
  for (const auto& [begin, end] :
       {std::pair<std::int64_t, std::int64_t>{0, kernel.ctas()}, {3, 8}, {60, 64}, {61, 75}, {100, 260}, {191, 193}}) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> rows, columns, seen_rows, seen_columns;
    for (std::int64_t cta = begin; cta < end; ++cta) {
      const CtaTile tile = kernel.rasterise(cta);
      const std::int64_t slice = tile.batch * kernel.split_k + tile.slice;
      ++rows[{slice, tile.tile_m}];
      ++columns[{slice, tile.tile_n}];
    }
    std::int64_t count = 0;
    for_each_piece(kernel, begin, end, [&](const RasterPiece& piece) {
      count += piece.count;
      for (std::int64_t row = piece.first_row(); row <= piece.last_row(); ++row) {
        seen_rows[{piece.slice, row}] += piece.ctas_in_row(row);
      }
      for (std::int64_t column = 0; column < piece.width; ++column) {
        EXPECT_EQ(piece.has_column(column), piece.ctas_in_column(column) > 0);
        if (piece.has_column(column)) {
          seen_columns[{piece.slice, piece.first_n + column}] += piece.ctas_in_column(column);
        }
      }
    });
    EXPECT_EQ(count, end - begin);
    EXPECT_EQ(seen_rows, rows) << begin;
    EXPECT_EQ(seen_columns, columns) << begin;
  }
}

}  // namespace
}  // namespace sptc::kernels
