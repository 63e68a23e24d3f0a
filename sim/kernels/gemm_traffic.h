// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/kernel_launch.h"
#include "sim/kernels/gemm_kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sptc::kernels {

/// Type of D in memory, to which the epilogue converts: the one that was asked for, or that of the
/// operands, or the accumulator's for TF32 and integers.
numerics::DataType output_type(const GemmProblem& problem);
inline int output_bits(const GemmProblem& problem) {
  return numerics::storage_bits(output_type(problem));
}

/// Bits of an element that a CTA of `kernel` stores: of D, or of the accumulator of its slice of K.
int stored_bits(const GemmKernel& kernel);

/// How many bytes the operands and D of a GEMM kernel are, and pieces of them.
class GemmBytes {
 public:
  explicit GemmBytes(const GemmKernel& kernel);

  /// Bytes of `k` (logical) elements of a row of an operand, or of a column of B.
  std::int64_t row_bytes(isa::Operand operand, std::int64_t k) const;
  /// Elements of a row of A or of a column of B that a k-tile copies: what is kept of 2:4 weights.
  std::int64_t copied_k(isa::Operand operand) const;
  /// Bytes of B in one GEMM of the batch that CTAs of different rows read beside what one of them
  /// does: V:N:M blocks choose columns of their own.
  double other_columns_bytes() const;
  /// Bytes of D of one CTA tile.
  std::int64_t output_tile_bytes() const;

 private:
  std::int64_t tile_rows(isa::Operand operand) const;
  std::int64_t column_index_bits(std::int64_t groups) const;

  GemmProblem problem_;
  base::GemmShape cta_tile_;
  sparsity::Pattern pattern_;
  int bits_, stored_bits_;
  bool sparse_;
};

/// How many rows of A, or columns of B, the panels of an operand have: the last ones are shorter,
/// and of a group of CTAs some may lie beyond the edge as a whole.
struct PanelRows {
  std::int64_t length, edge;

  std::int64_t of(std::int64_t tile) const { return std::clamp<std::int64_t>(length - tile * edge, 0, edge); }
  /// Rows beyond the edge in the box of TMA that it cuts, of `tile`, whose rows `boxes` copy.
  std::int64_t beyond(std::int64_t tile, std::int64_t boxes) const {
    const std::int64_t box = edge / boxes;
    const std::int64_t cut = of(tile) % box;
    return cut == 0 ? 0 : box - cut;
  }
};

/// Where the operands and D of a GEMM kernel lie in global memory, and how much of them a warp
/// moves. Operands lie tile after tile, without the padding of the edges: a tile of a row of tiles
/// is the same bytes for every CTA that needs it. What is copied at once begins with a sector.
/// Tiles of B that are less distinct than they are long (GemmProblem::distinct_b) begin before the
/// end of the one before.
class GemmTraffic : public sm::CtaTraffic, public GemmBytes {
 public:
  explicit GemmTraffic(const GemmKernel& kernel);

  sm::MemoryRange range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                        std::int64_t tile) const override;

  PanelRows panel_rows(isa::Operand operand) const;
  /// Bytes of a row of an operand, or of a column of B, in a slice of K; none beyond the end of K.
  std::int64_t slice_row_bytes(isa::Operand operand, std::int64_t slice) const;
  /// Bytes of an operand that CTAs `begin` to `end` (exclusive) copy.
  std::int64_t requested_bytes(isa::Operand operand, std::int64_t begin, std::int64_t end) const;
  /// Where CTA `writer` leaves the partial sums of fragment row `row` of warp `warp`, in f32 or
  /// s32; the flag that says that they are there for row kFlag.
  sm::MemoryRange partial_sums(std::int64_t writer, int warp, int row) const;
  static constexpr int kFlag = -1;

 private:
  /// What the copies of an operand have in common.
  struct Copies {
    std::uint64_t first = 0;            ///< address
    std::int64_t length = 0, edge = 0;  ///< rows of all panels, of one
    std::int64_t tiles = 0;             ///< panels of a GEMM
    std::int64_t parts = 1, part = 0;   ///< CTAs that copy a panel together, rows of each
    std::int64_t rows_of_warp = 0;      ///< of such a part, where warps share it
    std::int64_t row_bytes = 0;         ///< of a full k-tile
    std::int64_t tile_stride = 0;       ///< from k-tile to k-tile
  };
  /// A CTA, where it works, and CTAs that get what it copies.
  struct Place {
    std::int64_t cta = -1;
    CtaTile tile;
    int readers_of_a = 1, readers_of_b = 1;
  };

  const Place& place_of(std::int64_t cta) const;
  sm::MemoryRange copy(const Place& place, int warp, const isa::WarpInstruction& instruction, std::int64_t tile) const;
  std::int64_t overlapping(std::int64_t offset) const;
  sm::MemoryRange store(const CtaTile& where, int warp, int fragment_row) const;

  const GemmKernel kernel_;
  std::array<Copies, 3> copies_;  ///< A, B, metadata
  std::int64_t k_tiles_;          ///< of a slice
  std::int64_t warps_;
  std::uint64_t first_d_ = 0, first_partial_sum_ = 0;
  /// The places that were asked for last: the CTAs that are resident take turns.
  mutable std::array<Place, 256> places_;
};

}  // namespace sptc::kernels
