// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/metadata_register.h"
#include "models/sparsity/pattern.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sptc::sparsity {

/// How an instruction that no GPU has reads the metadata of its pattern: an index for each kept
/// element, row after row and without gaps, over the registers of a warp. Bit b of the metadata is
/// bit b % 32 of lane b / 32 % 32 of register b / 1024. Rows of several fragments share registers
/// as far as they fit; `selector` counts those fragments.
class PackedIndices {
 public:
  /// `kept_per_row`: elements of A in a row of the instruction.
  PackedIndices(const Pattern& pattern, int rows, int kept_per_row)
      : bits_(pattern.metadata_bits() / pattern.choices()), rows_(rows), kept_per_row_(kept_per_row) {}

  /// Index `index` of element `slot` of row `row`, into registers that hold zeros there.
  void write(int selector, int row, int slot, std::uint8_t index, std::span<LaneWords> registers) const {
    const int first = first_bit(selector, row, slot);
    for (int i = 0; i < bits_; ++i) {
      const Place place(first + i);
      registers[place.reg][place.lane] |= (unsigned{index} >> i & 1U) << place.bit;
    }
  }
  std::uint8_t read(int selector, int row, int slot, const LaneWords* registers) const {
    const int first = first_bit(selector, row, slot);
    unsigned index = 0;
    for (int i = 0; i < bits_; ++i) {
      const Place place(first + i);
      index |= (registers[place.reg][place.lane] >> place.bit & 1U) << i;
    }
    return static_cast<std::uint8_t>(index);
  }

 private:
  /// Where a bit of the metadata is.
  struct Place {
    std::size_t reg, lane;
    int bit;
    explicit Place(int number)
        : reg(static_cast<std::size_t>(number / 1024)),
          lane(static_cast<std::size_t>(number / 32 % 32)),
          bit(number % 32) {}
  };

  int first_bit(int selector, int row, int slot) const {
    return ((selector * rows_ + row) * kept_per_row_ + slot) * bits_;
  }

  int bits_;  ///< of an index
  int rows_, kept_per_row_;
};

}  // namespace sptc::sparsity
