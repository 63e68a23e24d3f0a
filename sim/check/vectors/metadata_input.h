// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/mma_fwd.h"
#include "models/numerics/data_type.h"
#include "sim/check/vectors/bit_array.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sptc::check::vectors {

/// How a metadata file holds the places of the elements of A (models/sparsity/metadata.h).
enum class MetadataLayout {
  kCanonical,  ///< [case, M, elements]: four (16-, 32-bit types) or eight groups per element
  kReordered,  ///< [case, M * elements]: the same elements as CUTLASS reorders them
  kLanes,      ///< [case, row tile, k tile, 32], or [case, 32]: the registers of a warp
  kIndices,    ///< [case, M, K/2]: the logical k of each stored element
  kMarlin,     ///< [case, M * elements]: the same elements as Sparse-Marlin reorders them
  kSm90,       ///< [case, M * groups / 2]: bytes as CUTLASS 3.x has them, tiles of 128 columns
  kSm90K64,    ///< the same, tiles of 64 columns
  kSm100,
};
/// "canonical", "cutlass" (also "pytorch" and "reordered"), "ptx" ("lanes"), "indices", "marlin", "cutlass-sm90",
/// "cutlass-sm90-k64", "cutlass-sm100". Throws InputError with the nearest of them.
MetadataLayout parse_metadata_layout(std::string_view name);

/// Metadata of a file, and which lanes of a register count.
struct MetadataInput {
  BitArray array;
  MetadataLayout layout = MetadataLayout::kCanonical;
  int selector = 0;  ///< kLanes only
};

/// Bytes of an element of such metadata for A of `type`. Not for kIndices.
int metadata_element_bytes(MetadataLayout layout, numerics::DataType type);

/// The nibble of every group, [M, groups], of case `index`: as it stands in the file, valid or not. `a_shape` is that
/// of A. Not for kIndices. Throws InputError, with `what` in front, where extents do not fit.
base::Matrix<std::uint8_t> metadata_nibbles(const MetadataInput& input, const mma::MmaInstruction& instruction,
                                            const std::vector<std::size_t>& a_shape, std::size_t index,
                                            const std::string& what);

/// The logical k of each stored element: [case, M, compressed K], for A of shape `a_shape`. Throws InputError, with
/// `what` in front, where extents do not fit or a group's metadata is invalid.
BitArray element_indices(const MetadataInput& input, const mma::MmaInstruction& instruction,
                         const std::vector<std::size_t>& a_shape, const std::string& what);

}  // namespace sptc::check::vectors
