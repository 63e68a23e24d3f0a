// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/mma_batch.h"

#include "models/base/error.h"
#include "models/batched/gemm.h"
#include "models/mma/dot_step.h"
#include "models/sparsity/compress.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

void require_shape(const BitArray& array, const std::vector<std::size_t>& shape, int bytes, std::string_view name,
                   const std::string& what) {
  if (array.shape != shape || array.element_bytes != bytes) {
    io::refuse("{}: {} must be [{}] of {} bytes each, not [{}] of {}", what, name, fmt::join(shape, ", "), bytes,
               fmt::join(array.shape, ", "), array.element_bytes);
  }
}

/// Elements of A per element of its array.
std::size_t packing(const MmaInstruction& instruction) {
  return instruction.a_type == DataType::kB1 ? 8 : 1;
}

void require_indices(const MmaOperands& operands, const std::string& what) {
  require_shape(*operands.indices, operands.a.shape, operands.indices->element_bytes, "indices", what);
  const std::size_t k = operands.b.shape[1];
  const auto outside = std::find_if(operands.indices->bits.begin(), operands.indices->bits.end(),
                                    [k](std::uint64_t index) { return index >= k; });
  if (outside != operands.indices->bits.end()) {
    io::refuse("{}: index {} of A is outside B, which has {} rows", what, *outside, k);
  }
}

/// Refuses a group whose indices do not rise.
void require_order(const BitArray& indices, const MmaInstruction& instruction, const std::string& what) {
  const auto kept = static_cast<std::size_t>(instruction.sparse_pattern().kept);
  const std::size_t stored_k = indices.shape[2];
  for (std::size_t i = 1; i < indices.bits.size(); ++i) {
    if (i % kept != 0 && indices.bits[i] <= indices.bits[i - 1]) {
      io::refuse(
          "{}: case {}, row {}: the indices {} and {} of a group do not rise: .sp::ordered_metadata leaves such a D "
          "undefined (PTX ISA), .sp does not",
          what, i / stored_k / indices.shape[1], i / stored_k % indices.shape[1], indices.bits[i - 1], indices.bits[i]);
    }
  }
}

/// What the nibble of group `t` selects of a column of tf32.
template <typename WordOfB>
Word mixed_word(const WordOfB& b_at, std::uint8_t nibble, std::size_t t) {
  const auto in_group = [&](int position) {
    return static_cast<Word>(b_at(2 * t + static_cast<std::size_t>(position)));
  };
  return sparsity::selected_word(in_group, nibble, 0, sparsity::hardware_pattern(DataType::kTf32));
}

/// The matrix of case `index`.
base::Matrix<Word> matrix_of(const BitArray& array, std::size_t index) {
  base::Matrix<Word> matrix(array.shape[1], array.shape[2]);
  const auto first = array.bits.begin() + static_cast<std::ptrdiff_t>(index * matrix.size());
  std::transform(first, first + static_cast<std::ptrdiff_t>(matrix.size()), matrix.data(),
                 [](std::uint64_t bits) { return static_cast<Word>(bits); });
  return matrix;
}

/// The metadata that names the places `indices` of case `index`; nothing where none does.
std::optional<base::Matrix<std::uint8_t>> nibbles_of(const BitArray& indices, std::size_t index,
                                                     numerics::DataType type) {
  const sparsity::SelectionTable selection(type);
  base::Matrix<std::uint8_t> nibbles(indices.shape[1], indices.shape[2] / selection.kept);
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    const std::size_t row = i / nibbles.cols(), first = i % nibbles.cols() * selection.kept;
    const auto names = [&](std::uint8_t nibble) {
      for (std::size_t t = first; t < first + selection.kept; ++t) {
        if (indices.at(index, row, t) != selection.logical(t, nibble)) {
          return false;
        }
      }
      return sparsity::is_valid_nibble(nibble, sparsity::hardware_pattern(type));
    };
    std::uint8_t& nibble = nibbles.data()[i];
    while (nibble < 16 && !names(nibble)) {
      ++nibble;
    }
    if (nibble == 16) {
      return std::nullopt;
    }
  }
  return nibbles;
}

/// D of case `index` by the batched engine, bit-identical to dot of every element; nothing where that does not take it.
std::optional<base::Matrix<Word>> by_engine(const MmaOperands& operands, const MmaInstruction& instruction,
                                            const mma::StepRules& rules, std::size_t index) {
  if (rules.is_f64() || instruction.scales || !operands.nibbles.empty()) {
    return std::nullopt;
  }
  const base::Matrix<Word> c = matrix_of(operands.c, index);
  const base::Matrix<Word> b_columns = matrix_of(operands.b, index).transposed();
  base::Matrix<Word> a = matrix_of(operands.a, index);
  batched::GemmOperands input{a, nullptr, b_columns, c};
  sparsity::CompressedMatrix compressed;
  if (instruction.sparse) {
    auto nibbles = nibbles_of(*operands.indices, index, instruction.a_type);
    if (!nibbles) {
      return std::nullopt;
    }
    compressed = {instruction.a_type, sparsity::hardware_pattern(instruction.a_type), b_columns.cols(), std::move(a),
                  std::move(*nibbles)};
    input.a = {};
    input.compressed_a = &compressed;
  }
  return batched::gemm(instruction, rules, input);
}

}  // namespace

int element_bytes(DataType type) {
  return std::max(1, numerics::storage_bits(type) / 8);
}

void require_operands(const MmaOperands& operands, const MmaInstruction& instruction, const std::string& what) {
  if (operands.a.shape.size() != 3 || operands.b.shape.size() != 3) {
    throw base::InputError(what + ": A and B must have three axes, [case, M, K] and [case, K, N]");
  }
  const std::size_t cases = operands.cases();
  const std::size_t rows = operands.rows();
  const std::size_t columns = operands.columns();
  if (cases == 0 || rows == 0 || columns == 0) {
    throw base::InputError(what + ": there is no element to compute");
  }
  const std::size_t factor = instruction.sparse ? 2 : 1;
  const std::size_t stored_k = operands.a.shape[2];
  require_shape(operands.a, {cases, rows, stored_k}, element_bytes(instruction.a_type), "A", what);
  require_shape(operands.b, {cases, stored_k * factor, columns}, element_bytes(instruction.b_type), "B", what);
  require_shape(operands.c, {cases, rows, columns}, element_bytes(instruction.c_type()), "C", what);
  const auto depth = static_cast<std::size_t>(instruction.compressed_k());
  if (stored_k == 0 || stored_k * packing(instruction) % depth != 0) {
    io::refuse("{}: rows of A hold {} elements, which is no multiple of the {} of {}", what,
               stored_k * packing(instruction), depth, instruction.ptx_name());
  }
  if (instruction.sparse != operands.indices.has_value()) {
    throw base::InputError(what + (instruction.sparse ? ": a sparse instruction needs metadata"
                                                      : ": a dense instruction takes no metadata"));
  }
  if (operands.indices) {
    require_indices(operands, what);
    if (instruction.needs_order()) {
      require_order(*operands.indices, instruction, what);
    }
  }
  const bool block_scaled = instruction.scales.has_value();
  if (block_scaled != operands.a_scales.has_value() || block_scaled != operands.b_scales.has_value()) {
    throw base::InputError(what + (block_scaled ? ": a block-scaled instruction needs scales of A and B"
                                                : ": only block-scaled instructions take scales"));
  }
  if (block_scaled) {
    const std::size_t blocks = stored_k / static_cast<std::size_t>(instruction.scales->block);
    require_shape(*operands.a_scales, {cases, rows, blocks}, 1, "the scales of A", what);
    require_shape(*operands.b_scales, {cases, blocks, columns}, 1, "the scales of B", what);
  }
}

DotOperands dot_operands(const MmaOperands& operands, const MmaInstruction& instruction, std::size_t index,
                         std::size_t row, std::size_t column) {
  DotOperands result;
  result.c = operands.c.at(index, row, column);
  const std::size_t stored_k = operands.a.shape[2];
  const bool is_f64 = instruction.accumulator == DataType::kF64;
  for (std::size_t t = 0; t < stored_k; ++t) {
    const std::size_t k = operands.indices ? operands.indices->at(index, row, t) : t;
    const std::uint64_t a = operands.a.at(index, row, t);
    const auto b_at = [&](std::size_t row_of_b) { return operands.b.at(index, row_of_b, column); };
    const std::uint64_t b = operands.nibbles.empty() ? b_at(k) : mixed_word(b_at, operands.nibbles[index](row, t), t);
    if (is_f64) {
      result.a64.push_back(a);
      result.b64.push_back(b);
    } else {
      result.a.push_back(static_cast<Word>(a));
      result.b.push_back(static_cast<Word>(b));
    }
  }
  if (operands.a_scales) {
    for (std::size_t block = 0; block < operands.a_scales->shape[2]; ++block) {
      result.a_scales.push_back(static_cast<Word>(operands.a_scales->at(index, row, block)));
      result.b_scales.push_back(static_cast<Word>(operands.b_scales->at(index, block, column)));
    }
  }
  return result;
}

std::uint64_t dot(const DotOperands& operands, const MmaInstruction& instruction, const mma::StepRules& rules) {
  if (rules.is_f64()) {
    return mma::f64_dot(operands.a64, operands.b64, operands.c);
  }
  const auto c = static_cast<Word>(operands.c);
  if (instruction.scales) {
    return mma::block_scaled_dot(operands.a, operands.b, operands.a_scales, operands.b_scales, c, instruction, rules);
  }
  return mma::dense_dot(operands.a, operands.b, c, instruction, rules);
}

BitArray execute(const MmaOperands& operands, const MmaInstruction& instruction, const mma::StepRules& rules) {
  BitArray d =
      make_bit_array({operands.cases(), operands.rows(), operands.columns()}, element_bytes(instruction.accumulator));
  auto element = d.bits.begin();
  for (std::size_t index = 0; index < operands.cases(); ++index) {
    if (const auto words = by_engine(operands, instruction, rules, index)) {
      element = std::copy(words->data(), words->data() + words->size(), element);
      continue;
    }
    for (std::size_t row = 0; row < operands.rows(); ++row) {
      for (std::size_t column = 0; column < operands.columns(); ++column) {
        *element++ = dot(dot_operands(operands, instruction, index, row, column), instruction, rules);
      }
    }
  }
  return d;
}

}  // namespace sptc::check::vectors
