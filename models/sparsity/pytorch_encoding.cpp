// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/sparsity/compress.h"

#include <array>
#include <cstddef>

namespace sptc::sparsity {
namespace {

/// The nibble of a group of four whose non-zero elements are the set bits; 0 where there are more
/// than two.
using Nibbles = std::array<std::uint8_t, 16>;
constexpr Nibbles kNew = {0xE, 0x8, 0x9, 0x4, 0xE, 0x8, 0x9, 0, 0xE, 0xC, 0xD, 0, 0xE, 0, 0, 0};
constexpr Nibbles kOld = {0xE, 0xC, 0xD, 0x4, 0xE, 0x8, 0x9, 0, 0xE, 0xC, 0xD, 0, 0xE, 0, 0, 0};
/// Of a group of two.
constexpr std::array<std::uint8_t, 3> kPairs = {0xE, 0x4, 0xE};

}  // namespace

CompressedMatrix encode_as_pytorch(const CompressedMatrix& matrix, PyTorchEncoder encoder) {
  const bool pairs = matrix.pattern == Pattern{1, 2, 1};
  if ((matrix.pattern != Pattern{2, 4, 1} && !pairs) ||
      (pairs && encoder == PyTorchEncoder::kOld)) {
    throw base::InputError("this PyTorch layout does not hold weights of " +
                           std::string(numerics::name(matrix.type)));
  }
  const base::Matrix<numerics::Word> dense = decompress(matrix);
  const auto group = static_cast<std::size_t>(matrix.pattern.group);
  const auto kept = static_cast<std::size_t>(matrix.pattern.kept);
  CompressedMatrix result = matrix;
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    for (std::size_t g = 0; g < matrix.nibbles.cols(); ++g) {
      const auto words = dense.row(row).subspan(g * group, group);
      std::size_t flags = 0;
      for (std::size_t i = 0; i < group; ++i) {
        flags |= words[i] != 0 ? std::size_t{1} << i : 0;
      }
      const std::uint8_t nibble = pairs                             ? kPairs[flags]
                                  : encoder == PyTorchEncoder::kNew ? kNew[flags]
                                                                    : kOld[flags];
      result.nibbles(row, g) = nibble;
      for (std::size_t slot = 0; slot < kept; ++slot) {
        const int position = selected_position(nibble, static_cast<int>(slot), matrix.pattern);
        result.values(row, g * kept + slot) = words[static_cast<std::size_t>(position)];
      }
    }
  }
  return result;
}

}  // namespace sptc::sparsity
