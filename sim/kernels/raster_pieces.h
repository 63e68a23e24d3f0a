// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"

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
  std::int64_t ctas_in_row(std::int64_t row) const;
  std::int64_t ctas_in_column(std::int64_t column) const;  ///< of the group
};

/// The piece that begins with CTA `begin` and ends at `end` (exclusive) or before.
RasterPiece first_piece(const GemmKernel& kernel, std::int64_t begin, std::int64_t end);

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
