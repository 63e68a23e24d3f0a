// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sptc::sparsity {

// The metadata of one matrix A in three layouts. They hold the same nibbles, one per (row, group),
// in different places; a conversion moves them and looks at none: decompress() is where an invalid
// one is refused. The canonical layout is the hub, every other conversion goes through it.

/// Bits of one metadata element of matrices of `type`: 16 (four groups) for 16- and 32-bit types,
/// 32 (eight groups) for 8- and 4-bit types.
int metadata_element_bits(numerics::DataType type);

/// Row-major E[m][c]: nibble x of E[i][j], in bits [4x+3 : 4x], is that of row i and group j *
/// (groups per element) + x. What CUTLASS calls the metadata before reorder_meta; an element covers
/// 16 columns of A (tf32: 8, 8 bits: 32).
struct CanonicalMetadata {
  numerics::DataType type = numerics::DataType::kF16;
  base::Matrix<std::uint32_t> elements;  ///< 16-bit elements in the low half

  int groups_per_element() const { return metadata_element_bits(type) / 4; }
  bool operator==(const CanonicalMetadata&) const = default;
};

/// The words that mma.sp reads: for each tile of 16 rows and of the instruction's depth, a register
/// per lane, as MetadataRegisterFormat describes it.
struct LaneMetadata {
  numerics::DataType type = numerics::DataType::kF16;
  MetadataRegisterFormat format;
  int first_selector = 0;            ///< of all tiles
  std::size_t row_tiles = 0;         ///< m / 16
  std::size_t k_tiles = 0;           ///< logical k / format.logical_k
  std::vector<LaneWords> registers;  ///< [row_tiles][k_tiles], row-major

  const LaneWords& words(std::size_t row_tile, std::size_t k_tile) const {
    return registers[row_tile * k_tiles + k_tile];
  }
  bool operator==(const LaneMetadata&) const = default;
};

/// The layout that CUTLASS 2.x (reorder_meta, ColumnMajorInterleaved<2>) and PyTorch
/// (_sparse_semi_structured) keep in memory. Rows are permuted inside blocks of 32 (16-bit
/// elements) or 16 (32-bit elements), and pairs of element columns interleaved, so that an ldmatrix
/// of each 16-byte record gives every lane the register that mma.sp wants. With m the row, j the
/// element column and x the row in its block, element (m, j) stands at
///
///   16 bits:  (j/2) * 2M + (m-x) * 2 + (x%8) * 8 + ((x/8)/2) * 4 + (j%2) * 2 + (x/8)%2
///   32 bits:  (j/2) * 2M + (m-x) * 2 + (x%8) * 4                 + (j%2) * 2 + x/8
///
/// Sparse-Marlin (vLLM, torchao) permutes blocks of 64 rows, for all element sizes alike. With
/// y = 2 (m%2) + (m/4)%2 + 32 ((m/2)%2) + 4 ((m%64)/8), the row in its block, element (m, j) stands
/// at
///
///   (j/2) * 2M + (m - m%64) * 2 + (y/2) * 4 + (j%2) * 2 + y%2
enum class RowOrder { kCutlass, kMarlin };

struct ReorderedMetadata {
  numerics::DataType type = numerics::DataType::kF16;
  std::size_t rows = 0;
  std::size_t columns = 0;              ///< elements per row
  std::vector<std::uint32_t> elements;  ///< rows * columns, 16-bit elements in the low half
  RowOrder order = RowOrder::kCutlass;

  bool operator==(const ReorderedMetadata&) const = default;
};

/// Index of element (row, column) in ReorderedMetadata::elements.
std::size_t reordered_offset(numerics::DataType type, std::size_t rows, std::size_t row,
                             std::size_t column, RowOrder order = RowOrder::kCutlass);

/// Nibbles [m, groups] packed into elements. Throws InputError where the groups do not fill whole
/// elements.
CanonicalMetadata pack_canonical(const base::Matrix<std::uint8_t>& nibbles,
                                 numerics::DataType type);
inline CanonicalMetadata pack_canonical(const CompressedMatrix& matrix) {
  return pack_canonical(matrix.nibbles, matrix.type);
}
/// And back: [m, groups].
base::Matrix<std::uint8_t> unpack_canonical(const CanonicalMetadata& metadata);

/// Throws InputError unless m is a multiple of the block of rows (32 or 16; Marlin: 64) and there
/// are pairs of element columns.
ReorderedMetadata to_reordered(const CanonicalMetadata& metadata,
                               RowOrder order = RowOrder::kCutlass);
/// Registers for instructions of depth `logical_k` that all use `selector`: one register per row
/// tile, the lanes that the selector leaves out hold 0. Throws InputError where the instruction or
/// the selector does not exist, and unless the matrix is whole tiles.
LaneMetadata to_lanes(const CanonicalMetadata& metadata, int logical_k, int selector);

/// Throws InputError where the extents do not belong together.
CanonicalMetadata to_canonical(const ReorderedMetadata& metadata);
CanonicalMetadata to_canonical(const LaneMetadata& metadata);

inline LaneMetadata to_lanes(const ReorderedMetadata& metadata, int logical_k, int selector) {
  return to_lanes(to_canonical(metadata), logical_k, selector);
}
inline ReorderedMetadata to_reordered(const LaneMetadata& metadata) {
  return to_reordered(to_canonical(metadata));
}

/// The word for the layout of metadata that `word` means: "cutlass" for "reordered", "ptx" for
/// "lanes"; any other is itself. Throws InputError for that of CUTLASS 3.x, which is not known
/// here.
std::string_view layout_word(std::string_view word);

}  // namespace sptc::sparsity
