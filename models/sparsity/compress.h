// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "models/sparsity/pattern.h"

namespace sptc::sparsity {

/// An N:M sparse matrix [m, logical_k] as kept values and their places.
struct CompressedMatrix {
  numerics::DataType type = numerics::DataType::kF16;
  Pattern pattern;
  std::size_t logical_k = 0;
  Matrix<numerics::Word> values;  ///< [m, compressed_k], storage words
  /// [m, groups]: the nibble of each group as mma.sp reads it. 2:4: index of the first kept element in bits 1:0, of the
  /// second in bits 3:2. 1:2 (tf32): 0b0100 keeps element 0, 0b1110 element 1.
  Matrix<std::uint8_t> nibbles;

  std::size_t rows() const { return values.rows(); }
  std::size_t compressed_k() const { return values.cols(); }
};

/// Compresses `dense` [m, k] at the hardware pattern of `type`. Under-full groups keep the smallest unused positions as
/// explicit zeros, so that the indices are distinct and increasing. Throws InputError, naming the row and the group,
/// where a group holds more non-zeros than the pattern allows, and where k is no multiple of the group.
CompressedMatrix compress(const Matrix<numerics::Word>& dense, numerics::DataType type);

/// The dense matrix [m, logical_k] again. Throws InputError where a nibble is invalid (equal indices; for tf32 anything
/// but 0b0100 and 0b1110).
Matrix<numerics::Word> decompress(const CompressedMatrix& compressed);

/// Position inside its group that slot `slot` (0 .. kept-1) of `nibble` selects.
int selected_position(std::uint8_t nibble, int slot, const Pattern& pattern);

/// Whether `nibble` names distinct positions that the pattern knows.
bool is_valid_nibble(std::uint8_t nibble, const Pattern& pattern);

}  // namespace sptc::sparsity
