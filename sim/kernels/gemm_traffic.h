// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/sm/kernel_launch.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sptc::kernels {

/// Bits of an element of D in memory, to which the epilogue converts: of the type that was asked
/// for, or that of the operands, or of TF32 and integers the accumulator's.
numerics::DataType output_type(const GemmProblem& problem);
int output_bits(const GemmProblem& problem);

/// Bits of an element that a CTA of `kernel` stores: of D, or of the accumulator of its slice of K.
int stored_bits(const GemmKernel& kernel);

/// How many bytes the operands and D of a GEMM kernel are, and pieces of them.
class GemmBytes {
 public:
  explicit GemmBytes(const GemmKernel& kernel);

  /// Bytes of one tile of an operand, without edges.
  std::int64_t tile_bytes(isa::Operand operand) const;
  /// Bytes of `k` (logical) elements of a row of an operand, or of a column of B.
  std::int64_t row_bytes(isa::Operand operand, std::int64_t k) const;
  /// Bytes of B that CTAs of different rows read beside what one of them does: V:N:M blocks choose
  /// columns of their own. Of one GEMM of the batch.
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

  std::int64_t of(std::int64_t tile) const {
    return std::clamp<std::int64_t>(length - tile * edge, 0, edge);
  }
};

/// Where the operands and D of a GEMM kernel lie in global memory, and how much of them a warp
/// moves. Operands lie tile after tile, without the padding of the edges: a tile of a row of tiles
/// is the same bytes for every CTA that needs it, which is what the L2 has to see. What is copied
/// at once begins with a sector: of one that two copies share, the second would find its bytes
/// there without anybody having read them from DRAM.
class GemmTraffic : public sm::CtaTraffic, public GemmBytes {
 public:
  explicit GemmTraffic(const GemmKernel& kernel);

  sm::MemoryRange range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                        std::int64_t tile) const override;

  /// Bytes of a whole row of tiles of A or metadata, or a column of B, along K: without edges.
  std::int64_t panel_bytes(isa::Operand operand) const;
  /// Bytes of panel `tile` within slice `slice` of K, as copied: edges are shorter.
  std::int64_t panel_bytes(isa::Operand operand, std::int64_t tile, std::int64_t slice) const;
  PanelRows panel_rows(isa::Operand operand) const;
  /// Bytes of a row of an operand, or of a column of B, in a slice of K; none beyond the end of K.
  std::int64_t slice_row_bytes(isa::Operand operand, std::int64_t slice) const;
  /// Bytes of an operand that CTAs `begin` to `end` (exclusive) copy.
  std::int64_t requested_bytes(isa::Operand operand, std::int64_t begin, std::int64_t end) const;
  /// Bytes of operands that one CTA away from the edges copies per full k-tile.
  std::int64_t largest_tile_bytes() const;
  /// Its part of what the L2 reads of them, where it reads for several CTAs at once.
  std::int64_t largest_tile_l2_bytes() const;
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
  sm::MemoryRange copy(const Place& place, int warp, const isa::WarpInstruction& instruction,
                       std::int64_t tile) const;
  sm::MemoryRange store(const CtaTile& where, int warp, int fragment_row) const;

  const GemmKernel kernel_;
  std::array<Copies, 3> copies_;  ///< A, B, metadata
  std::int64_t k_tiles_;          ///< of a slice
  std::int64_t warps_;
  std::uint64_t first_d_ = 0, first_partial_sum_ = 0;
  /// Those that were asked for last: CTAs of a few SMs take turns, for hundreds of copies each.
  mutable std::array<Place, 256> places_;
};

}  // namespace sptc::kernels
