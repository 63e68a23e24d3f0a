// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/error.h"

#include <string>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

constexpr std::size_t kRowTile = 16;

/// Throws InputError unless `extent` is a multiple of `of`: "what = extent must be a multiple of
/// `of`".
void require_multiple(const std::string& what, std::size_t extent, std::size_t of) {
  if (extent % of != 0) {
    throw base::InputError(what + " = " + std::to_string(extent) + " must be a multiple of " +
                           std::to_string(of));
  }
}

/// Whether `count` is rows * columns. Extents may come from a file: their product need not fit.
bool is_product(std::size_t count, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) {
    return count == 0;
  }
  return count % rows == 0 && count / rows == columns;
}

/// Rows that are permuted among themselves.
std::size_t row_block(DataType type, RowOrder order) {
  if (order == RowOrder::kMarlin) {
    return 64;
  }
  return metadata_element_bits(type) == 16 ? 32 : 16;
}

void require_reorderable(DataType type, std::size_t rows, std::size_t columns, RowOrder order) {
  const std::string of_type = (order == RowOrder::kMarlin ? " of Marlin's" : " of reordered") +
                              (" metadata for " + std::string(numerics::name(type)));
  require_multiple("rows" + of_type, rows, row_block(type, order));
  require_multiple("element columns" + of_type, columns, 2);
}

}  // namespace

int metadata_element_bits(DataType type) {
  return numerics::storage_bits(type) >= 16 ? 16 : 32;
}

std::size_t reordered_offset(DataType type, std::size_t rows, std::size_t row, std::size_t column,
                             RowOrder order) {
  const std::size_t x = row % row_block(type, order);
  const std::size_t block = column / 2 * 2 * rows + (row - x) * 2;
  if (order == RowOrder::kMarlin) {
    const std::size_t y = x % 2 * 2 + x / 4 % 2 + x / 2 % 2 * 32 + x / 8 * 4;
    return block + y / 2 * 4 + column % 2 * 2 + y % 2;
  }
  if (metadata_element_bits(type) == 16) {
    return block + x % 8 * 8 + x / 16 * 4 + column % 2 * 2 + x / 8 % 2;
  }
  return block + x % 8 * 4 + column % 2 * 2 + x / 8;
}

CanonicalMetadata pack_canonical(const base::Matrix<std::uint8_t>& nibbles, DataType type) {
  const auto per_element = static_cast<std::size_t>(metadata_element_bits(type) / 4);
  require_multiple("groups per row of canonical metadata for " + std::string(numerics::name(type)),
                   nibbles.cols(), per_element);
  CanonicalMetadata metadata{
      .type = type,
      .elements = base::Matrix<std::uint32_t>(nibbles.rows(), nibbles.cols() / per_element)};
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      metadata.elements(row, group / per_element) |= static_cast<std::uint32_t>(nibbles(row, group))
                                                     << (4 * (group % per_element));
    }
  }
  return metadata;
}

base::Matrix<std::uint8_t> unpack_canonical(const CanonicalMetadata& metadata) {
  const auto per_element = static_cast<std::size_t>(metadata.groups_per_element());
  base::Matrix<std::uint8_t> nibbles(metadata.elements.rows(),
                                     metadata.elements.cols() * per_element);
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      nibbles(row, group) = static_cast<std::uint8_t>(
          metadata.elements(row, group / per_element) >> (4 * (group % per_element)) & 0xF);
    }
  }
  return nibbles;
}

ReorderedMetadata to_reordered(const CanonicalMetadata& metadata, RowOrder order) {
  const base::Matrix<std::uint32_t>& from = metadata.elements;
  require_reorderable(metadata.type, from.rows(), from.cols(), order);
  ReorderedMetadata reordered{.type = metadata.type,
                              .rows = from.rows(),
                              .columns = from.cols(),
                              .elements = std::vector<std::uint32_t>(from.size()),
                              .order = order};
  for (std::size_t row = 0; row < from.rows(); ++row) {
    for (std::size_t column = 0; column < from.cols(); ++column) {
      reordered.elements[reordered_offset(metadata.type, from.rows(), row, column, order)] =
          from(row, column);
    }
  }
  return reordered;
}

CanonicalMetadata to_canonical(const ReorderedMetadata& metadata) {
  require_reorderable(metadata.type, metadata.rows, metadata.columns, metadata.order);
  if (!is_product(metadata.elements.size(), metadata.rows, metadata.columns)) {
    throw base::InputError("reordered metadata of " + std::to_string(metadata.rows) + " rows and " +
                           std::to_string(metadata.columns) + " columns has " +
                           std::to_string(metadata.elements.size()) +
                           " elements, needed are rows times columns");
  }
  CanonicalMetadata canonical{
      .type = metadata.type,
      .elements = base::Matrix<std::uint32_t>(metadata.rows, metadata.columns)};
  for (std::size_t row = 0; row < metadata.rows; ++row) {
    for (std::size_t column = 0; column < metadata.columns; ++column) {
      canonical.elements(row, column) = metadata.elements[reordered_offset(
          metadata.type, metadata.rows, row, column, metadata.order)];
    }
  }
  return canonical;
}

LaneMetadata to_lanes(const CanonicalMetadata& metadata, int logical_k, int selector) {
  const MetadataRegisterFormat format = metadata_register_format(metadata.type, logical_k);
  const base::Matrix<std::uint8_t> nibbles = unpack_canonical(metadata);
  const auto groups = static_cast<std::size_t>(format.groups());
  require_multiple("rows of mma.sp metadata", nibbles.rows(), kRowTile);
  require_multiple("groups per row of mma.sp metadata for m16n8k" + std::to_string(logical_k),
                   nibbles.cols(), groups);
  LaneMetadata lanes{.type = metadata.type,
                     .format = format,
                     .first_selector = selector,
                     .row_tiles = nibbles.rows() / kRowTile,
                     .k_tiles = nibbles.cols() / groups,
                     .registers = {}};
  // Also without a tile, so that a bad selector is refused whatever the matrix.
  metadata_slot(format, selector, {});
  for (std::size_t row_tile = 0; row_tile < lanes.row_tiles; ++row_tile) {
    for (std::size_t k_tile = 0; k_tile < lanes.k_tiles; ++k_tile) {
      lanes.registers.push_back(
          gather_metadata(format, selector, nibbles, row_tile * kRowTile, k_tile * groups));
    }
  }
  return lanes;
}

CanonicalMetadata to_canonical(const LaneMetadata& metadata) {
  const auto groups = static_cast<std::size_t>(metadata.format.groups());
  if (!is_product(metadata.registers.size(), metadata.row_tiles, metadata.k_tiles)) {
    throw base::InputError("lane metadata of " + std::to_string(metadata.row_tiles) + " x " +
                           std::to_string(metadata.k_tiles) + " tiles cannot have " +
                           std::to_string(metadata.registers.size()) + " registers");
  }
  base::Matrix<std::uint8_t> nibbles(metadata.row_tiles * kRowTile, metadata.k_tiles * groups);
  for (std::size_t row_tile = 0; row_tile < metadata.row_tiles; ++row_tile) {
    for (std::size_t k_tile = 0; k_tile < metadata.k_tiles; ++k_tile) {
      const base::Matrix<std::uint8_t> tile =
          read_metadata(metadata.format, metadata.first_selector, metadata.words(row_tile, k_tile));
      for (std::size_t row = 0; row < kRowTile; ++row) {
        for (std::size_t group = 0; group < groups; ++group) {
          nibbles(row_tile * kRowTile + row, k_tile * groups + group) = tile(row, group);
        }
      }
    }
  }
  return pack_canonical(nibbles, metadata.type);
}

std::string_view layout_word(std::string_view word) {
  if (word.starts_with("cutlass3") || word.starts_with("cutlass-3")) {
    throw base::InputError(
        "the layout of CUTLASS 3.x, metadata of wgmma and tcgen05, is not known here; 'cutlass' is "
        "that of CUTLASS 2.x");
  }
  return word == "reordered" ? "cutlass" : word == "lanes" ? "ptx" : word;
}

}  // namespace sptc::sparsity
