// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/bitmask_layer.h"

#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::size_t kGroup = 4;  // of two that stay
constexpr std::size_t kByte = 8;   // bits

/// The bits of the elements that a group of `pattern` keeps, the first the lowest.
unsigned kept_bits(std::uint8_t nibble, const sparsity::Pattern& pattern) {
  unsigned bits = 0;
  for (int slot = 0; slot < pattern.kept; ++slot) {
    bits |= 1U << sparsity::selected_position(nibble, slot, pattern);
  }
  return bits;
}

[[noreturn]] void refuse(const io::Tensor& tensor, const std::string& problem) {
  io::refuse("tensor '{}': {}", io::printable(tensor.name), problem);
}

void require_shape(const io::Tensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape) {
  if (tensor.dtype != dtype || tensor.shape != shape) {
    refuse(tensor, fmt::format("must be {} [{}, {}] of a weight of that shape", dtype, shape[0], shape[1]));
  }
}

/// The nibble whose places are the set bits, two of four.
std::uint8_t nibble_of(unsigned bits) {
  const int first = std::countr_zero(bits);
  const int second = std::countr_zero(bits & (bits - 1));
  return static_cast<std::uint8_t>(first | second << 2);
}

/// A 2:4 matrix whose values and nibbles are to come.
sparsity::CompressedMatrix two_of_four(DataType type, std::size_t rows, std::size_t k) {
  return {.type = type,
          .pattern = {.kept = 2, .group = static_cast<int>(kGroup), .run = 1},
          .logical_k = k,
          .values = base::Matrix<Word>(rows, k / 2),
          .nibbles = base::Matrix<std::uint8_t>(rows, k / kGroup)};
}

}  // namespace

std::string layer_of_weight(const std::string& name, WeightLayout layout) {
  constexpr std::string_view kEnding = ".weight";
  if (!name.ends_with(kEnding) || name.size() == kEnding.size()) {
    io::refuse("tensor '{}': {} holds weights that are called '<layer>.weight'", io::printable(name),
               prune::name(layout));
  }
  return name.substr(0, name.size() - kEnding.size());
}

std::vector<io::TensorEntry> bitmask_entries(const std::string& name, const CompressedForm& form) {
  if (form.layout != WeightLayout::kSparse24Bitmask) {
    io::refuse("prune does not write {}: 'sptcsim convert' makes it of quantised weights", prune::name(form.layout));
  }
  const std::string layer = layer_of_weight(name, form.layout);
  const std::string_view dtype = stored_dtype(form.type);
  if (dtype == "U8") {
    io::refuse("tensor '{}': {} does not hold elements of {}", io::printable(name), prune::name(form.layout),
               numerics::name(form.type));
  }
  if (form.k % static_cast<std::int64_t>(kGroup) != 0 || form.k_first) {
    io::refuse("tensor '{}': {} holds weights [rows, k] whose k is a multiple of 4", io::printable(name),
               prune::name(form.layout));
  }
  const auto bytes = (form.k + static_cast<std::int64_t>(kByte) - 1) / static_cast<std::int64_t>(kByte);
  return {entry_of(layer + ".compressed", dtype, {form.rows, form.k / 2}),
          entry_of(layer + ".bitmask", "U8", {form.rows, bytes}), entry_of(layer + ".shape", "I64", {2, 1})};
}

std::vector<io::Tensor> bitmask_tensors(const std::string& name, const sparsity::CompressedMatrix& matrix,
                                        const CompressedForm& form) {
  const std::vector<io::TensorEntry> entries = bitmask_entries(name, form);
  io::Tensor bitmask = blank_tensor(entries[1]);
  const auto group = static_cast<std::size_t>(matrix.pattern.group);
  const auto kept = static_cast<std::size_t>(matrix.pattern.kept);
  const auto row_bytes = static_cast<std::size_t>(entries[1].shape[1]);
  base::Matrix<Word> values = matrix.values;
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    std::byte* const bits = bitmask.bytes.data() + row * row_bytes;
    for (std::size_t g = 0; g < matrix.nibbles.cols(); ++g) {
      const std::uint8_t nibble = matrix.nibbles(row, g);
      if (!sparsity::is_valid_nibble(nibble, matrix.pattern)) {
        io::refuse("tensor '{}': the metadata of row {}, group {} is no {}", io::printable(name), row, g,
                   matrix.pattern.name());
      }
      const std::size_t at = g * group;
      bits[at / kByte] |= static_cast<std::byte>(kept_bits(nibble, matrix.pattern) << at % kByte);
      if (kept == 2 && !sparsity::is_ordered_nibble(nibble)) {
        std::swap(values(row, 2 * g), values(row, 2 * g + 1));
      }
    }
  }
  return {tensor_of_words(entries[0], values), std::move(bitmask), shape_tensor(entries[2], form)};
}

sparsity::CompressedMatrix bitmask_matrix(const io::Tensor& compressed, const io::Tensor& bitmask,
                                          const CompressedForm& form) {
  const auto rows = static_cast<std::size_t>(form.rows);
  const auto k = static_cast<std::size_t>(form.k);
  if (k % kGroup != 0) {
    refuse(bitmask, fmt::format("k = {} is no multiple of 4", k));
  }
  require_shape(compressed, stored_dtype(form.type), {form.rows, form.k / 2});
  const std::size_t row_bytes = (k + kByte - 1) / kByte;
  require_shape(bitmask, "U8", {form.rows, static_cast<std::int64_t>(row_bytes)});
  sparsity::CompressedMatrix matrix = two_of_four(form.type, rows, k);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t g = 0; g < k / kGroup; ++g) {
      const auto byte = std::to_integer<unsigned>(bitmask.bytes[row * row_bytes + g / 2]);
      const unsigned bits = byte >> (kGroup * (g % 2)) & 0xF;
      if (std::popcount(bits) != 2) {
        refuse(bitmask, fmt::format("row {}, group {} of four has {} bits, not 2", row, g, std::popcount(bits)));
      }
      matrix.nibbles(row, g) = nibble_of(bits);
    }
  }
  matrix.values = words_of_tensor(compressed);
  return matrix;
}

sparsity::CompressedMatrix compress_float32(const base::Matrix<Word>& dense) {
  constexpr Word kMagnitude = 0x7FFFFFFF;
  sparsity::CompressedMatrix matrix = two_of_four(DataType::kTf32, dense.rows(), dense.cols());
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    for (std::size_t g = 0; g < dense.cols() / kGroup; ++g) {
      unsigned bits = 0;
      for (std::size_t i = 0; i < kGroup; ++i) {
        bits |= (dense(row, kGroup * g + i) & kMagnitude) != 0 ? 1U << i : 0U;
      }
      if (std::popcount(bits) > 2) {
        io::refuse("the matrix is not 2:4 sparse: row {}, group {} holds {} non-zeros", row, g, std::popcount(bits));
      }
      for (unsigned place = 1; std::popcount(bits) < 2; place <<= 1) {
        bits |= place;
      }
      matrix.nibbles(row, g) = nibble_of(bits);
      for (int slot = 0; slot < 2; ++slot) {
        const int at = sparsity::selected_position(matrix.nibbles(row, g), slot, matrix.pattern);
        const Word word = dense(row, kGroup * g + static_cast<std::size_t>(at));
        matrix.values(row, 2 * g + static_cast<std::size_t>(slot)) = (word & kMagnitude) == 0 ? 0 : word;
      }
    }
  }
  return matrix;
}

}  // namespace sptc::prune
