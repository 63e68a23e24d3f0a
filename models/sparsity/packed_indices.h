// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/metadata_register.h"
#include "models/sparsity/pattern.h"

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
  PackedIndices(const Pattern& pattern, int rows, int kept_per_row);

  /// Index `index` of element `slot` of row `row`, into registers that hold zeros there.
  void write(int selector, int row, int slot, std::uint8_t index, std::span<LaneWords> registers) const;
  std::uint8_t read(int selector, int row, int slot, const LaneWords* registers) const;

 private:
  int first_bit(int selector, int row, int slot) const {
    return ((selector * rows_ + row) * kept_per_row_ + slot) * bits_;
  }

  int bits_;  ///< of an index
  int rows_, kept_per_row_;
};

}  // namespace sptc::sparsity
