// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sptc::sparsity {

/// Bits of one metadata element of matrices of `type`: 16 (four groups) for 16- and 32-bit types,
/// 32 (eight groups) for 8- and 4-bit types.
inline int metadata_element_bits(numerics::DataType type) {
  return numerics::storage_bits(type) >= 16 ? 16 : 32;
}

/// Where the nibbles of the metadata of one matrix A stand, one per (row, group). No order looks at
/// them: decompress() is where an invalid one is refused.
enum class MetadataOrder {
  /// Row-major E[m][c]: nibble x of E[i][j], in bits [4x+3 : 4x], is that of row i and group j *
  /// (groups per element) + x. What CUTLASS calls the metadata before reorder_meta; an element
  /// covers 16 columns of A (tf32: 8, 8 bits: 32).
  kCanonical,
  /// What CUTLASS 2.x (reorder_meta, ColumnMajorInterleaved<2>) and PyTorch
  /// (_sparse_semi_structured) keep in memory. Rows are permuted inside blocks of 32 (16-bit
  /// elements) or 16 (32-bit elements), and pairs of element columns interleaved, so that an
  /// ldmatrix of each 16-byte record gives every lane the register that mma.sp wants. With m the
  /// row, j the element column and x the row in its block, element (m, j) stands at
  ///
  ///   16 bits:  (j/2) * 2M + (m-x) * 2 + (x%8) * 8 + ((x/8)/2) * 4 + (j%2) * 2 + (x/8)%2
  ///   32 bits:  (j/2) * 2M + (m-x) * 2 + (x%8) * 4                 + (j%2) * 2 + x/8
  kCutlass,
  /// Sparse-Marlin (vLLM, torchao) permutes blocks of 64 rows, for all element sizes alike. With
  /// y = 2 (m%2) + (m/4)%2 + 32 ((m/2)%2) + 4 ((m%64)/8), the row in its block, element (m, j)
  /// stands at
  ///
  ///   (j/2) * 2M + (m - m%64) * 2 + (y/2) * 4 + (j%2) * 2 + y%2
  kMarlin,
  /// The words that mma.sp reads: for each tile of 16 rows and of the instruction's depth,
  /// [row tile][k tile], a register per lane, as MetadataRegisterFormat describes it. Lanes that
  /// the selector leaves out hold 0.
  kLanes,
  /// What the compressors of CUTLASS 3.x write for wgmma (sm_90) and tcgen05 (sm_100): bytes of two
  /// groups, the first in the low nibble. Atoms of 64 rows and logical_k columns follow each other
  /// down the rows, then along k. With x the row in its atom, c the group in it and G its groups,
  /// the nibble stands at
  ///
  ///   16, 32 bits:  (x/16) * 16G + ((c/4)%2) * 8G + (x%8) * G + (c/8) * 8 + ((x/8)%2) * 4 + c%4
  ///   8, 4 bits:    x * G + c
  ///
  /// logical_k is min(depth of the kernel's tile, 128) for sm_90, and 32 groups for sm_100, whose
  /// atoms of 128 rows are two of these. Sources: sm90_sparse_config.inl, sm1xx_sparse_config.inl
  /// of NVIDIA/cutlass.
  kCutlass3,
};

/// How metadata is laid out.
struct MetadataForm {
  numerics::DataType type = numerics::DataType::kF16;
  MetadataOrder order = MetadataOrder::kCanonical;
  int logical_k = 0;  ///< kLanes: of the instruction; kCutlass3: columns of an atom
  int selector = 0;   ///< kLanes: of all tiles
};

/// Index of element (row, column) of `rows` rows in kCutlass or kMarlin.
std::size_t reordered_offset(numerics::DataType type, std::size_t rows, std::size_t row, std::size_t column,
                             MetadataOrder order = MetadataOrder::kCutlass);

/// Bits of a word of metadata in `form`: of an element, 32 of a register, 8 of CUTLASS 3.x.
int metadata_word_bits(const MetadataForm& form);

/// Nibbles [m, groups] as words in `form`: elements [m, columns] in the low bits, registers [tiles,
/// 32], or bytes [m, groups / 2]. Throws InputError where the groups do not fill whole elements,
/// the matrix is no whole blocks of rows, pairs of element columns or tiles as its order needs
/// them, and where the instruction or the selector does not exist.
base::Matrix<std::uint32_t> pack_metadata(const base::Matrix<std::uint8_t>& nibbles, const MetadataForm& form);
/// The nibbles [m, groups] again. Throws InputError also where there are not as many words as that
/// takes.
base::Matrix<std::uint8_t> unpack_metadata(std::span<const std::uint32_t> words, std::size_t m, std::size_t groups,
                                           const MetadataForm& form);

/// What the layouts of metadata are called: "canonical", "cutlass" (2.x), "cutlass-sm90" (3.x,
/// tiles of 128 columns and more), "cutlass-sm90-k64" (tiles of 64), "cutlass-sm100", "marlin",
/// "ptx".
std::span<const std::string_view> metadata_layout_names();

/// The form of that name, of "ptx" without a depth; nothing for another name.
std::optional<MetadataForm> find_metadata_form(std::string_view name, numerics::DataType type);

/// The name of the layout that `word` means: "cutlass" for "reordered", "ptx" for "lanes"; any
/// other is itself. Throws InputError for "cutlass3", which has a layout for each architecture.
std::string_view layout_word(std::string_view word);

}  // namespace sptc::sparsity
