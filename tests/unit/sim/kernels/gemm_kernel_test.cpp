// SPDX-License-Identifier: Apache-2.0
#include "models/mma/register_map.h"
#include "sim/kernels/raster_pieces.h"
#include "sim/kernels/register_allocation.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
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

TEST(IssuedMacs, CountPaddingInEveryDirectionAndHalfTheDepthWhereSparse) {
  const KernelOverrides tile{base::GemmShape{128, 128, 64}, 3, {}};
  const GemmKernel dense = kernel_for(problem(129, 1, 65), tile);
  EXPECT_EQ(dense.tiles_m(), 2);
  EXPECT_EQ(dense.tiles_n(), 1);
  EXPECT_EQ(dense.k_tiles(), 2);
  EXPECT_EQ(dense.issued_macs(), 2 * 128 * 128 * 128);
  const GemmKernel sparse = kernel_for(problem(129, 1, 68, true), tile);
  EXPECT_EQ(sparse.issued_macs(), 2 * 128 * 128 * 64);
  EXPECT_EQ(kernel_for(problem(128, 128, 64, false, DataType::kF16, 5), tile).issued_macs(),
            5 * 128 * 128 * 64);
}

TEST(RegisterAllocation, NeverGivesOneRegisterTwoMeanings) {
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      const RegisterAllocation registers(mma::gemm_instruction(type, sparse), 4, 4);
      std::map<int, std::string> owner;
      const auto claim = [&](const isa::RegisterRange& range, const std::string& name) {
        for (int r = range.base; r < range.base + range.count; ++r) {
          EXPECT_EQ(owner.emplace(r, name).first->second, name) << r;
          EXPECT_LT(r, registers.count());
        }
      };
      for (int row = 0; row < 4; ++row) {
        for (int col = 0; col < 4; ++col) {
          claim(registers.accumulator(row, col),
                "d" + std::to_string(row) + "," + std::to_string(col));
        }
        for (int buffer = 0; buffer < 2; ++buffer) {
          const std::string suffix = std::to_string(buffer) + "," + std::to_string(row);
          claim(registers.a(buffer, row), "a" + suffix);
          claim(registers.b(buffer, row), "b" + suffix);
          if (sparse) {
            claim(registers.metadata(buffer, row),
                  "e" + std::to_string(buffer) + "," +
                      std::to_string(row / registers.rows_per_metadata_register()));
          }
        }
      }
      EXPECT_EQ(static_cast<int>(owner.size()), registers.count());
    }
  }
}

TEST(RasterPieces, HoldTheCtasThatTheRasterisationPutsThere) {
  GemmKernel kernel = kernel_for(problem(1000, 3000, 512), {base::GemmShape{128, 128, 64}, {}, {}});
  kernel.problem.batch = 2;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, kernel.ctas()},
                                   {3, 8},
                                   {60, 64},
                                   {61, 75},
                                   {100, 260},
                                   {191, 193}}) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> rows, columns, seen_rows,
        seen_columns;
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
