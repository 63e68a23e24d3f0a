// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/gemm_traffic.h"

#include "models/sparsity/weight_pattern.h"
#include "sim/kernels/raster_pieces.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sptc::kernels {
namespace {

constexpr std::int64_t kSectorBytes = 32;

}  // namespace

numerics::DataType output_type(const GemmProblem& problem) {
  const bool is_float = numerics::info(problem.dtype).is_float();
  return problem.d_dtype.value_or(is_float ? problem.dtype : numerics::accumulator_type(problem.dtype));
}

int stored_bits(const GemmKernel& kernel) {
  constexpr int kAccumulatorBits = 32;
  const bool as_accumulated = kernel.split_k > 1 && kernel.reduction_scheme == ReductionScheme::kComputeType;
  return as_accumulated ? kAccumulatorBits : output_bits(kernel.problem);
}

GemmBytes::GemmBytes(const GemmKernel& kernel)
    : problem_(kernel.problem),
      cta_tile_(kernel.cta_tile),
      pattern_(kernel.instruction.sparse_pattern()),
      bits_(kernel.problem.bits_of(isa::Operand::kB)),
      stored_bits_(stored_bits(kernel)),
      sparse_(kernel.instruction.sparse) {}

std::int64_t GemmBytes::row_bytes(isa::Operand operand, std::int64_t k) const {
  if (operand == isa::Operand::kMetadata) {
    const std::int64_t groups = base::ceil_div(k, pattern_.group);
    return base::ceil_div(groups * pattern_.metadata_bits() + column_index_bits(groups), 8);
  }
  const bool compressed = operand == isa::Operand::kA && sparse_;
  const std::int64_t elements = compressed ? base::ceil_div(k, pattern_.group) * pattern_.kept : k;
  const std::int64_t scales = problem_.storage.scale_bits(operand == isa::Operand::kA, k);
  return base::ceil_div(elements * problem_.bits_of(operand) + scales, 8);
}

std::int64_t GemmBytes::copied_k(isa::Operand operand) const {
  const std::int64_t k = std::min(cta_tile_.k, problem_.shape.k);
  return operand == isa::Operand::kA && sparse_ ? base::ceil_div(k, pattern_.group) * pattern_.kept : k;
}

std::int64_t GemmBytes::column_index_bits(std::int64_t groups) const {
  if (problem_.vector_rows == 0) {
    return 0;
  }
  // Each block of V rows names the columns of a group among the M of the source.
  const std::int64_t source =
      problem_.source_k * sparsity::kVectorColumns / std::max<std::int64_t>(problem_.shape.k, 1);
  const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(source - 1)));
  return base::ceil_div(groups * sparsity::kVectorColumns * bits, problem_.vector_rows);
}

double GemmBytes::other_columns_bytes() const {
  if (problem_.vector_rows == 0) {
    return 0;
  }
  // A column of B is read by some block unless none of them keeps it.
  const double kept = static_cast<double>(problem_.shape.k) / static_cast<double>(problem_.source_k);
  const auto blocks = static_cast<double>(base::ceil_div(problem_.shape.m, problem_.vector_rows));
  const double read = static_cast<double>(problem_.source_k) * (1 - std::pow(1 - kept, blocks));
  return (read - static_cast<double>(problem_.shape.k)) * static_cast<double>(problem_.shape.n) * bits_ / 8;
}

std::int64_t GemmBytes::tile_rows(isa::Operand operand) const {
  return operand == isa::Operand::kB ? std::min(cta_tile_.n, problem_.shape.n)
                                     : std::min(cta_tile_.m, problem_.shape.m);
}

std::int64_t GemmBytes::output_tile_bytes() const {
  return tile_rows(isa::Operand::kA) * tile_rows(isa::Operand::kB) * stored_bits_ / 8;
}

GemmTraffic::GemmTraffic(const GemmKernel& kernel)
    : GemmBytes(kernel), kernel_(kernel), k_tiles_(kernel.k_tiles()), warps_(kernel.warps()) {
  // Operands one behind the other, each from a multiple of 1 MiB on.
  constexpr std::int64_t kAlignment = 1 << 20;
  std::uint64_t next = 0;
  const auto place = [&](std::int64_t bytes) {
    const std::uint64_t first = next;
    next += static_cast<std::uint64_t>(base::round_up(bytes, kAlignment));
    return first;
  };
  const std::int64_t batch = kernel.problem.batch * kernel.split_k;
  for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kB, isa::Operand::kMetadata}) {
    Copies& copies = copies_[static_cast<std::size_t>(operand)];
    const bool is_b = operand == isa::Operand::kB;
    copies.length = panel_rows(operand).length;
    copies.edge = panel_rows(operand).edge;
    copies.tiles = is_b ? kernel.tiles_n() : kernel.tiles_m();
    // CTAs that share instructions each copy their part of B.
    copies.parts = is_b ? kernel.cta_group : 1;
    copies.part = copies.edge / copies.parts;
    copies.rows_of_warp = base::ceil_div(copies.part, warps_);
    copies.row_bytes = row_bytes(operand, kernel.cta_tile.k);
    const std::int64_t rows = std::min(copies.edge, copies.length);
    const std::int64_t stored = row_bytes(operand, std::min(kernel.cta_tile.k, kernel.problem.shape.k));
    const std::int64_t at_once = kernel.persistent() ? copies.part : copies.rows_of_warp;
    copies.tile_stride = rows / at_once * base::round_up(at_once * stored, kSectorBytes) +
                         base::round_up(rows % at_once * stored, kSectorBytes);
    const bool none = operand == isa::Operand::kMetadata && !kernel.instruction.sparse;
    copies.first = place(none ? 0 : batch * copies.tiles * k_tiles_ * copies.tile_stride);
  }
  first_d_ = place(batch * kernel.tiles_m() * kernel.tiles_n() * output_tile_bytes());
  first_partial_sum_ = place(0);
}

std::int64_t GemmTraffic::slice_row_bytes(isa::Operand operand, std::int64_t slice) const {
  const std::int64_t tile_k = kernel_.cta_tile.k;
  const std::int64_t first = slice * k_tiles_ * tile_k;
  const std::int64_t k = std::clamp<std::int64_t>(kernel_.problem.shape.k - first, 0, k_tiles_ * tile_k);
  return k / tile_k * row_bytes(operand, tile_k) + row_bytes(operand, k % tile_k);
}

PanelRows GemmTraffic::panel_rows(isa::Operand operand) const {
  return operand == isa::Operand::kB ? PanelRows{kernel_.problem.shape.n, kernel_.cta_tile.n}
                                     : PanelRows{kernel_.problem.shape.m, kernel_.cta_tile.m};
}

std::int64_t GemmTraffic::requested_bytes(isa::Operand operand, std::int64_t begin, std::int64_t end) const {
  const bool is_b = operand == isa::Operand::kB;
  const PanelRows rows = panel_rows(operand);
  const std::int64_t tiles = is_b ? kernel_.tiles_n() : kernel_.tiles_m();
  const std::int64_t first_short = rows.length / rows.edge;
  std::int64_t bytes = 0;
  for_each_piece(kernel_, begin, end, [&](const RasterPiece& piece) {
    std::int64_t missing = 0;
    for (std::int64_t tile = first_short; tile < tiles; ++tile) {
      std::int64_t at_edge = 0;
      if (!is_b) {
        at_edge = piece.ctas_in_row(tile);
      } else if (tile >= piece.first_n && tile < piece.first_n + piece.width) {
        at_edge = piece.ctas_in_column(tile - piece.first_n);
      }
      missing += at_edge * (rows.edge - rows.of(tile));
    }
    bytes += (piece.count * rows.edge - missing) * slice_row_bytes(operand, piece.slice % kernel_.split_k);
  });
  return is_b ? bytes / kernel_.cta_group : bytes;
}

sm::MemoryRange GemmTraffic::partial_sums(std::int64_t writer, int warp, int row) const {
  constexpr std::int64_t kFlagBytes = 32;  // a sector
  const std::int64_t row_bytes = kernel_.instruction.shape.m * kernel_.warp_tile.n * kAccumulatorBytes;
  const std::int64_t of_warp = kernel_.fragments_m() * row_bytes + kFlagBytes;
  const std::int64_t first = (writer * kernel_.warps() + warp) * of_warp;
  const bool flag = row == kFlag;
  const std::int64_t offset = flag ? kernel_.fragments_m() * row_bytes : row * row_bytes;
  return {first_partial_sum_ + static_cast<std::uint64_t>(first + offset), flag ? kFlagBytes : row_bytes};
}

sm::MemoryRange GemmTraffic::range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                                   std::int64_t tile) const {
  const Place& place = place_of(cta);
  return instruction.opcode == isa::Opcode::kStoreGlobal ? store(place.tile, warp, instruction.where.row)
                                                         : copy(place, warp, instruction, tile);
}

const GemmTraffic::Place& GemmTraffic::place_of(std::int64_t cta) const {
  Place& place = places_[static_cast<std::size_t>(cta) % places_.size()];
  if (place.cta != cta) {
    const CtaTile tile = kernel_.rasterise(cta);
    place = {cta, tile, kernel_.readers(isa::Operand::kA, tile), kernel_.readers(isa::Operand::kB, tile)};
  }
  return place;
}

/// Where the windows of a convolution overlap, tiles do as well: of each a part is new.
std::int64_t GemmTraffic::overlapping(std::int64_t offset) const {
  const double distinct = kernel_.problem.distinct_b;
  return distinct == 1
             ? offset
             : static_cast<std::int64_t>(distinct * static_cast<double>(offset)) / kSectorBytes * kSectorBytes;
}

sm::MemoryRange GemmTraffic::copy(const Place& place, int warp, const isa::WarpInstruction& instruction,
                                  std::int64_t tile) const {
  const isa::Operand operand = instruction.operand;
  const bool is_b = operand == isa::Operand::kB;
  const Copies& copies = copies_[static_cast<std::size_t>(operand)];
  const CtaTile& where = place.tile;
  const std::int64_t index = is_b ? where.tile_n : where.tile_m;
  const std::int64_t valid_rows = std::min(copies.edge, copies.length - index * copies.edge);
  const std::int64_t share = instruction.first_warp_only ? copies.part : copies.rows_of_warp;
  const std::int64_t of_part = instruction.first_warp_only ? 0 : warp;
  const std::int64_t part = copies.parts == 1 ? 0 : where.tile_m % copies.parts;
  const std::int64_t first_row = part * copies.part + of_part * share;
  const std::int64_t rows = std::clamp<std::int64_t>(valid_rows - first_row, 0, share);
  const std::int64_t tile_k = kernel_.cta_tile.k;
  const std::int64_t k_tile = where.slice * k_tiles_ + tile;
  const std::int64_t valid_k = std::clamp<std::int64_t>(kernel_.problem.shape.k - k_tile * tile_k, 0, tile_k);
  const std::int64_t bytes = valid_k == tile_k ? copies.row_bytes : row_bytes(operand, valid_k);
  const std::int64_t place_of_tile = (where.batch * copies.tiles + index) * k_tiles_ * kernel_.split_k + k_tile;
  const bool activations = operand != isa::Operand::kMetadata && !kernel_.problem.is_weight(operand);
  const std::int64_t offset =
      (activations ? overlapping(place_of_tile * copies.tile_stride) : place_of_tile * copies.tile_stride) +
      (part * (instruction.first_warp_only ? 1 : warps_) + of_part) * base::round_up(share * bytes, kSectorBytes);
  const int readers = is_b ? place.readers_of_b : place.readers_of_a;
  const bool fills = instruction.bulk && operand != isa::Operand::kMetadata;
  return {copies.first + static_cast<std::uint64_t>(offset), rows * bytes, readers,
          fills ? panel_rows(operand).beyond(index, copies.parts * readers) * copied_k(operand) : 0};
}

sm::MemoryRange GemmTraffic::store(const CtaTile& where, int warp, int fragment_row) const {
  const base::GemmShape& shape = kernel_.problem.shape;
  const std::int64_t height = kernel_.instruction.shape.m;
  const std::int64_t width = kernel_.warp_tile.n;
  const std::int64_t row =
      where.tile_m * kernel_.cta_tile.m + warp % kernel_.warps_m() * kernel_.warp_tile.m + fragment_row * height;
  const std::int64_t col = where.tile_n * kernel_.cta_tile.n + warp / kernel_.warps_m() * width;
  const std::int64_t rows = std::clamp<std::int64_t>(shape.m - row, 0, height);
  const std::int64_t cols = std::clamp<std::int64_t>(shape.n - col, 0, width);
  const int bits = stored_bits(kernel_);
  // Pieces of 16 rows and the width of a warp tile, row after row of them.
  const std::int64_t columns = base::ceil_div(shape.n, width);
  const std::int64_t gemm = where.batch * kernel_.split_k + where.slice;
  const std::int64_t piece = (gemm * base::ceil_div(shape.m, height) + row / height) * columns + col / width;
  const std::int64_t stride = std::min(height, shape.m) * std::min(width, shape.n) * bits / 8;
  return {first_d_ + static_cast<std::uint64_t>(piece * stride), rows * cols * bits / 8};
}

}  // namespace sptc::kernels
