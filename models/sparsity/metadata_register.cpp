// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/metadata_register.h"

#include "models/base/error.h"
#include "models/base/matrix.h"

#include <string>

namespace sptc::sparsity {
namespace {

constexpr int kRows = 16;

void require_selector(const MetadataRegisterFormat& format, int selector) {
  if (selector < 0 || selector >= format.selectors()) {
    const int last = format.selectors() - 1;
    throw base::InputError("sparsity selector " + std::to_string(selector) + " is out of range for m16n8k" +
                           std::to_string(format.logical_k) + ": allowed " +
                           (last == 0 ? "is 0" : "are 0 to " + std::to_string(last)));
  }
}

}  // namespace

MetadataRegisterFormat metadata_register_format(numerics::DataType type, int logical_k) {
  const int bits = numerics::storage_bits(type);
  const MetadataRegisterFormat format{
      .pattern = hardware_pattern(type), .logical_k = logical_k, .rows_per_word = bits >= 16 ? 2 : 1};
  // A compressed row of an mma.sp fragment is 16 or 32 bytes.
  const int shallow = 2 * 16 * 8 / bits;
  if (logical_k != shallow && logical_k != 2 * shallow) {
    throw base::InputError("mma.sp has no m16n8k" + std::to_string(logical_k) + " for " +
                           std::string(numerics::name(type)) + ": allowed are k" + std::to_string(shallow) + " and k" +
                           std::to_string(2 * shallow));
  }
  return format;
}

MetadataSlot metadata_slot(const MetadataRegisterFormat& format, int selector, const MetadataPlace& place) {
  require_selector(format, selector);
  const int quad = place.row & 7;
  const int upper_row = place.row >> 3;
  const int first_lane = 4 * quad + format.lanes_per_quad() * selector;
  if (format.rows_per_word == 2) {
    return {.lane = first_lane + (place.group >> 2), .nibble = 4 * upper_row + (place.group & 3)};
  }
  return {.lane = first_lane + upper_row + 2 * (place.group >> 3), .nibble = place.group & 7};
}

LaneWords gather_metadata(const MetadataRegisterFormat& format, int selector, const base::Matrix<std::uint8_t>& nibbles,
                          std::size_t first_row, std::size_t first_group) {
  LaneWords words{};
  for (int row = 0; row < kRows; ++row) {
    for (int group = 0; group < format.groups(); ++group) {
      const std::size_t from_row = first_row + static_cast<std::size_t>(row);
      const std::size_t from_group = first_group + static_cast<std::size_t>(group);
      const bool inside = from_row < nibbles.rows() && from_group < nibbles.cols();
      const std::uint32_t nibble = inside ? nibbles(from_row, from_group) : kEmptyGroupNibble;
      const MetadataSlot slot = metadata_slot(format, selector, {.row = row, .group = group});
      words[static_cast<std::size_t>(slot.lane)] |= nibble << (4 * slot.nibble);
    }
  }
  return words;
}

base::Matrix<std::uint8_t> read_metadata(const MetadataRegisterFormat& format, int selector, const LaneWords& words) {
  base::Matrix<std::uint8_t> nibbles(kRows, static_cast<std::size_t>(format.groups()));
  for (int row = 0; row < kRows; ++row) {
    for (int group = 0; group < format.groups(); ++group) {
      const MetadataSlot slot = metadata_slot(format, selector, {.row = row, .group = group});
      nibbles(static_cast<std::size_t>(row), static_cast<std::size_t>(group)) =
          static_cast<std::uint8_t>(words[static_cast<std::size_t>(slot.lane)] >> (4 * slot.nibble) & 0xF);
    }
  }
  return nibbles;
}

}  // namespace sptc::sparsity
