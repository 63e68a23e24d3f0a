// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/numerics/operand_view.h"
#include "models/sparsity/pattern.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sptc::sparsity {

/// An N:M sparse matrix [m, logical_k] as kept values and their places.
struct CompressedMatrix {
  numerics::DataType type = numerics::DataType::kF16;
  Pattern pattern;
  std::size_t logical_k = 0;
  base::Matrix<numerics::Word> values;  ///< [m, compressed_k], storage words
  /// [m, groups]: the nibble of each group as mma.sp reads it. 2:4: index of the first kept element
  /// in bits 1:0, of the second in bits 3:2. 1:2 (tf32): 0b0100 keeps element 0, 0b1110 element 1.
  base::Matrix<std::uint8_t> nibbles;

  std::size_t rows() const { return values.rows(); }
  std::size_t compressed_k() const { return values.cols(); }
};

/// Compresses `dense` [m, k] at the hardware pattern of `type`. Under-full groups keep the smallest
/// unused positions as explicit zeros, so that the indices are distinct and increasing.
///
/// Zero means: of value zero as the tensor core reads the word, hence -0 and a tf32 word with
/// nothing but discarded low bits count as zeros. Every zero of the input becomes +0, in a kept
/// slot or not. No result depends on its sign: a zero product takes no part in the alignment, an
/// exact zero sum is +0, and 0 * infinity is the canonical NaN.
///
/// Throws InputError, naming the row, the group and its values, where a group holds more non-zeros
/// than the pattern allows; where k is no multiple of the group; and where `type` is no operand
/// type. A tf32 matrix that is 2:4 but not 1:2 is refused with a sentence that says so.
CompressedMatrix compress(const numerics::OperandView& dense, numerics::DataType type);

/// The dense matrix [m, logical_k] again, +0 where nothing was kept. Indices need not be in order:
/// slot s goes where index s says (PTX ISA, mma.sp without ordered_metadata). Throws InputError
/// where a nibble is invalid (equal indices; for tf32 anything but 0b0100 and 0b1110) and where the
/// extents of values and nibbles do not belong together.
base::Matrix<numerics::Word> decompress(const CompressedMatrix& compressed);

/// A group that holds more non-zeros than a pattern allows.
struct PatternViolation {
  std::size_t row = 0;
  std::size_t group = 0;
};

/// The first group of `dense`, row by row, that `pattern` does not allow; nothing where the matrix
/// is legal. k must be a multiple of the group, else InputError.
std::optional<PatternViolation> find_violation(const numerics::OperandView& dense, numerics::DataType type,
                                               const Pattern& pattern);

/// Position inside its group that slot `slot` (0 .. kept-1) of `nibble` selects. Defined for all 16
/// nibbles, as a multiplexer would be, also for those that is_valid_nibble refuses.
inline int selected_position(std::uint8_t nibble, int slot, const Pattern& pattern) {
  const int choice = slot / pattern.run;
  // 1:2 is read as 2:4 over half elements, so that 0b0100 names the halves (0,1) and 0b1110 the
  // halves (2,3). The position is that of the element whose lower half is taken.
  const int index = pattern.candidates() == 2 ? (nibble >> 1) & 1 : (nibble >> (2 * choice)) & 3;
  return index * pattern.run + slot % pattern.run;
}

/// selected_position() of the hardware's pattern for a type, for all sixteen nibbles.
struct SelectionTable {
  explicit SelectionTable(numerics::DataType type) {
    const Pattern pattern = hardware_pattern(type);
    kept = static_cast<std::size_t>(pattern.kept);
    group = static_cast<std::size_t>(pattern.group);
    for (std::uint8_t nibble = 0; nibble < 16; ++nibble) {
      for (std::size_t slot = 0; slot < kept; ++slot) {
        position[nibble][slot] = static_cast<std::uint8_t>(selected_position(nibble, static_cast<int>(slot), pattern));
      }
    }
  }

  /// The logical k that element `t` of a compressed row meets.
  std::size_t logical(std::size_t t, std::uint8_t nibble) const {
    return t / kept * group + position[nibble & 15U][t % kept];
  }

  std::size_t kept = 0;
  std::size_t group = 0;
  std::uint8_t position[16][4] = {};
};

/// The word that slot `slot` of `nibble` selects of a group whose words are `b(position)`, for all
/// 16 nibbles, as an H100 does. A word of 32 bits is selected as two halves, each by an index of
/// its own: a nibble that is_valid_nibble refuses mixes halves.
template <typename WordAt>
numerics::Word selected_word(const WordAt& b, std::uint8_t nibble, int slot, const Pattern& pattern) {
  if (pattern.candidates() != 2) {
    return b(selected_position(nibble, slot, pattern));
  }
  const auto half = [&](int index) { return b(index >> 1) >> (16 * (index & 1)) & 0xFFFFU; };
  return half(nibble & 3) | half(nibble >> 2 & 3) << 16;
}

/// Whether `nibble` names distinct positions that the pattern knows.
bool is_valid_nibble(std::uint8_t nibble, const Pattern& pattern);

/// Whether the indices of a valid `nibble` rise, of tf32 those of its halves: then
/// .sp::ordered_metadata takes it, too (PTX ISA).
constexpr bool is_ordered_nibble(std::uint8_t nibble) {
  return (nibble & 3) < (nibble >> 2 & 3);
}

/// How torch.sparse names the places of groups that hold fewer non-zeros than they may: before and
/// since PyTorch began to compress float32. Full groups are the same for all encoders.
enum class PyTorchEncoder { kOld, kNew };

/// `matrix` as torch.sparse.to_sparse_semi_structured compresses it (torch/sparse/
/// _semi_structured_conversions.py, commits 08cac22e and fcf28a29). Throws InputError for types of
/// 4 bits, and for tf32 with the old encoder, which did not have it.
CompressedMatrix encode_as_pytorch(const CompressedMatrix& matrix, PyTorchEncoder encoder);

}  // namespace sptc::sparsity
