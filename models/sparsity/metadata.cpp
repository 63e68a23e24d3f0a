// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata.h"

#include "models/base/error.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/pattern.h"

#include <array>
#include <string>
#include <tuple>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

constexpr std::size_t kRowTile = 16;
constexpr std::size_t kLanes = std::tuple_size_v<LaneWords>;
constexpr std::size_t kAtomRows = 64;    // of CUTLASS 3.x
constexpr std::size_t kAtomGroups = 32;  // of sm_100

/// Orders by name, and the columns of an atom of CUTLASS 3.x; 0: those of kAtomGroups.
struct NamedOrder {
  std::string_view name;
  MetadataOrder order;
  int columns = 0;
};
constexpr std::array<NamedOrder, 7> kNamedOrders = {{{"canonical", MetadataOrder::kCanonical},
                                                     {"cutlass", MetadataOrder::kCutlass},
                                                     {"cutlass-sm90", MetadataOrder::kCutlass3, 128},
                                                     {"cutlass-sm90-k64", MetadataOrder::kCutlass3, 64},
                                                     {"cutlass-sm100", MetadataOrder::kCutlass3},
                                                     {"marlin", MetadataOrder::kMarlin},
                                                     {"ptx", MetadataOrder::kLanes}}};

/// Throws InputError unless `extent` is a multiple of `of`: "what = extent must be a multiple of
/// `of`".
void require_multiple(const std::string& what, std::size_t extent, std::size_t of) {
  if (extent % of != 0) {
    throw base::InputError(what + " = " + std::to_string(extent) + " must be a multiple of " + std::to_string(of));
  }
}

/// Rows that are permuted among themselves.
std::size_t row_block(DataType type, MetadataOrder order) {
  if (order == MetadataOrder::kMarlin) {
    return 64;
  }
  return metadata_element_bits(type) == 16 ? 32 : 16;
}

/// The places of the nibbles of metadata [m, groups].
class Places {
 public:
  struct Place {
    std::size_t word = 0;
    int low_bit = 0;
  };

  Places(const MetadataForm& form, std::size_t m, std::size_t groups)
      : form_(form),
        m_(m),
        per_element_(static_cast<std::size_t>(metadata_element_bits(form.type) / 4)),
        rows_(m),
        columns_(groups / per_element_) {
    const std::string for_type = " metadata for " + std::string(numerics::name(form.type));
    require_multiple("groups per row of canonical" + for_type, groups, per_element_);
    if (form.order == MetadataOrder::kLanes) {
      set_tiles(groups);
    } else if (form.order == MetadataOrder::kCutlass3) {
      set_atoms(groups, for_type);
    } else if (form.order != MetadataOrder::kCanonical) {
      const bool marlin = form.order == MetadataOrder::kMarlin;
      const std::string of_type = (marlin ? " of Marlin's" : " of reordered") + for_type;
      require_multiple("rows" + of_type, m, row_block(form.type, form.order));
      require_multiple("element columns" + of_type, columns_, 2);
    }
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  Place of(std::size_t row, std::size_t group) const {
    if (form_.order == MetadataOrder::kLanes) {
      const MetadataSlot slot = metadata_slot(
          format_, form_.selector, {static_cast<int>(row % kRowTile), static_cast<int>(group % tile_groups_)});
      const std::size_t tile = row / kRowTile * k_tiles_ + group / tile_groups_;
      return {tile * kLanes + static_cast<std::size_t>(slot.lane), 4 * slot.nibble};
    }
    if (form_.order == MetadataOrder::kCutlass3) {
      const std::size_t nibble = nibble_of_atoms(row, group);
      return {nibble / 2, static_cast<int>(nibble % 2 * 4)};
    }
    const std::size_t column = group / per_element_;
    return {form_.order == MetadataOrder::kCanonical ? row * columns_ + column
                                                     : reordered_offset(form_.type, m_, row, column, form_.order),
            static_cast<int>(4 * (group % per_element_))};
  }

 private:
  void set_tiles(std::size_t groups) {
    format_ = metadata_register_format(form_.type, form_.logical_k);
    tile_groups_ = static_cast<std::size_t>(format_.groups());
    require_multiple("rows of mma.sp metadata", m_, kRowTile);
    require_multiple("groups per row of mma.sp metadata for m16n8k" + std::to_string(form_.logical_k), groups,
                     tile_groups_);
    // Refuses a bad selector whatever the matrix, also without a tile.
    metadata_slot(format_, form_.selector, {});
    k_tiles_ = groups / tile_groups_;
    rows_ = m_ / kRowTile * k_tiles_;
    columns_ = kLanes;
  }

  /// CUTLASS 3.x takes columns in blocks of 512 bits of A, and those of 4 bits by 256.
  void set_atoms(std::size_t groups, const std::string& for_type) {
    const int bits = numerics::storage_bits(form_.type);
    const auto group = static_cast<std::size_t>(hardware_pattern(form_.type).group);
    tile_groups_ = static_cast<std::size_t>(form_.logical_k) / group;
    const std::size_t block = bits == 4 ? kAtomGroups : bits == 8 ? 16 : 8;
    if (form_.logical_k <= 0 || form_.type == DataType::kS4 || tile_groups_ % block != 0 || tile_groups_ == 0) {
      throw base::InputError("CUTLASS 3.x has no" + for_type + " in tiles of " + std::to_string(form_.logical_k) +
                             " columns");
    }
    require_multiple("rows of CUTLASS 3.x" + for_type, m_, kAtomRows);
    require_multiple("groups per row of CUTLASS 3.x" + for_type, groups, tile_groups_);
    columns_ = groups / 2;
  }

  std::size_t nibble_of_atoms(std::size_t row, std::size_t group) const {
    const std::size_t x = row % kAtomRows;
    const std::size_t c = group % tile_groups_;
    const std::size_t atom = (group / tile_groups_ * m_ + (row - x)) * tile_groups_;
    if (metadata_element_bits(form_.type) == 32) {
      return atom + x * tile_groups_ + c;
    }
    return atom + (x / 16 * 16 + c / 4 % 2 * 8 + x % 8) * tile_groups_ + c / 8 * 8 + x / 8 % 2 * 4 + c % 4;
  }

  MetadataForm form_;
  std::size_t m_, per_element_, rows_, columns_;
  MetadataRegisterFormat format_;              ///< kLanes
  std::size_t tile_groups_ = 0, k_tiles_ = 0;  ///< kLanes; kCutlass3: groups of an atom
};

}  // namespace

int metadata_word_bits(const MetadataForm& form) {
  return form.order == MetadataOrder::kLanes      ? 32
         : form.order == MetadataOrder::kCutlass3 ? 8
                                                  : metadata_element_bits(form.type);
}

std::size_t reordered_offset(DataType type, std::size_t rows, std::size_t row, std::size_t column,
                             MetadataOrder order) {
  const std::size_t x = row % row_block(type, order);
  const std::size_t block = column / 2 * 2 * rows + (row - x) * 2;
  if (order == MetadataOrder::kMarlin) {
    const std::size_t y = x % 2 * 2 + x / 4 % 2 + x / 2 % 2 * 32 + x / 8 * 4;
    return block + y / 2 * 4 + column % 2 * 2 + y % 2;
  }
  if (metadata_element_bits(type) == 16) {
    return block + x % 8 * 8 + x / 16 * 4 + column % 2 * 2 + x / 8 % 2;
  }
  return block + x % 8 * 4 + column % 2 * 2 + x / 8;
}

base::Matrix<std::uint32_t> pack_metadata(const base::Matrix<std::uint8_t>& nibbles, const MetadataForm& form) {
  const Places places(form, nibbles.rows(), nibbles.cols());
  base::Matrix<std::uint32_t> words(places.rows(), places.columns());
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      const auto [word, low_bit] = places.of(row, group);
      words.data()[word] |= static_cast<std::uint32_t>(nibbles(row, group)) << low_bit;
    }
  }
  return words;
}

base::Matrix<std::uint8_t> unpack_metadata(std::span<const std::uint32_t> words, std::size_t m, std::size_t groups,
                                           const MetadataForm& form) {
  const Places places(form, m, groups);
  if (words.size() != places.rows() * places.columns()) {
    throw base::InputError("metadata of " + std::to_string(m) + " rows and " + std::to_string(groups) + " groups has " +
                           std::to_string(words.size()) + " words, needed are " +
                           std::to_string(places.rows() * places.columns()));
  }
  base::Matrix<std::uint8_t> nibbles(m, groups);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t group = 0; group < groups; ++group) {
      const auto [word, low_bit] = places.of(row, group);
      nibbles(row, group) = static_cast<std::uint8_t>(words[word] >> low_bit & 0xF);
    }
  }
  return nibbles;
}

std::span<const std::string_view> metadata_layout_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kNamedOrders.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = kNamedOrders[i].name;
    }
    return names;
  }();
  return kNames;
}

std::optional<MetadataForm> find_metadata_form(std::string_view name, DataType type) {
  for (const NamedOrder& row : kNamedOrders) {
    if (row.name == name) {
      const int columns = row.columns != 0 ? row.columns : static_cast<int>(kAtomGroups) * hardware_pattern(type).group;
      return MetadataForm{type, row.order, row.order == MetadataOrder::kCutlass3 ? columns : 0, 0};
    }
  }
  return std::nullopt;
}

std::string_view layout_word(std::string_view word) {
  if (word.starts_with("cutlass3") || word.starts_with("cutlass-3")) {
    throw base::InputError(
        "CUTLASS 3.x has a layout for each architecture: cutlass-sm90 (kernels with tiles of 128 "
        "columns and more), cutlass-sm90-k64 (of 64), cutlass-sm100; 'cutlass' is that of 2.x");
  }
  return word == "reordered" ? "cutlass" : word == "lanes" ? "ptx" : word;
}

}  // namespace sptc::sparsity
