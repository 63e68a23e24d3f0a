// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/prune.h"
#include "sim/io/text_file.h"
#include "sim/report/show/element_view.h"
#include "sim/workload/operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sptc::report::show {
namespace {

using mma::MmaInstruction;
using numerics::Word;

void prune(const MmaInstruction& instruction, ShownOperands& operands) {
  if (instruction.sparse) {
    operands.compressed =
        sparsity::compress(sparsity::prune_by_magnitude(operands.a, instruction.a_type), instruction.a_type);
  }
}

/// Case `index` of `array`, matrices [rows, cols] of `type`. One of `fewer` rows has zeros below them. Throws
/// InputError where the array holds other matrices, or fewer cases.
base::Matrix<Word> matrix_of(const check::vectors::BitArray& array, std::size_t index, std::size_t rows,
                             std::size_t cols, numerics::DataType type, const char* name, bool fewer) {
  const int bytes = check::vectors::element_bytes(type);
  if (array.shape.size() != 3 || array.shape[1] > rows || array.shape[1] == 0 || (array.shape[1] != rows && !fewer) ||
      array.shape[2] != cols || array.element_bytes != bytes) {
    io::refuse("show: {} must be [{}, {}] of {} bytes each, not [{}] of {}", name, rows, cols, bytes,
               fmt::join(array.shape, ", "), array.element_bytes);
  }
  if (index >= array.shape[0]) {
    io::refuse("show: --case {} is outside {}, which holds {}", index, name, array.shape[0]);
  }
  base::Matrix<Word> matrix(rows, cols);
  const std::size_t count = array.shape[1] * cols;
  const auto first = array.bits.begin() + static_cast<std::ptrdiff_t>(index * count);
  std::transform(first, first + static_cast<std::ptrdiff_t>(count), matrix.data(),
                 [](std::uint64_t bits) { return static_cast<Word>(bits); });
  return matrix;
}

base::Matrix<std::uint8_t> padded(const base::Matrix<std::uint8_t>& nibbles, std::size_t rows) {
  base::Matrix<std::uint8_t> result(rows, nibbles.cols(), sparsity::kEmptyGroupNibble);
  std::copy(nibbles.data(), nibbles.data() + nibbles.size(), result.data());
  return result;
}

void check_nibbles(const sparsity::CompressedMatrix& matrix, const MmaInstruction& instruction) {
  for (std::size_t row = 0; row < matrix.nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < matrix.nibbles.cols(); ++group) {
      if (!sparsity::is_valid_nibble(matrix.nibbles(row, group), matrix.pattern)) {
        io::refuse(
            "show: the metadata of row {}, group {} is 0x{:x}, which "
            "names no two places of {}",
            row, group, matrix.nibbles(row, group), matrix.pattern.name());
      }
      if (instruction.needs_order() && !sparsity::is_ordered_nibble(matrix.nibbles(row, group))) {
        io::refuse(
            "show: the indices of row {}, group {} (0x{:x}) do not rise: "
            ".sp::ordered_metadata leaves such a D undefined (PTX ISA), .sp does not",
            row, group, matrix.nibbles(row, group));
      }
    }
  }
}

}  // namespace

ShownOperands generated_operands(const MmaInstruction& instruction, const std::string& data, std::uint64_t seed) {
  const workload::OperandSource source(workload::parse_data_kind(data), seed);
  const auto operation = [&](const char* name, numerics::DataType type) {
    workload::Operation op;
    op.name = name;
    op.shape = {instruction.shape.m, instruction.shape.n, instruction.shape.k};
    op.dtype = type;
    return op;
  };
  ShownOperands operands;
  operands.source = fmt::format("{}, seed {}", data, seed);
  operands.a = source.a(operation("show", instruction.a_type), 0);
  operands.b = source.b_columns(operation("show", instruction.b_type), 0).transposed();
  workload::Operation addend = operation("show c", instruction.a_type);
  addend.shape.k = instruction.shape.n;
  operands.c = source.a(addend, 0);
  for (std::size_t i = 0; i < operands.c.size(); ++i) {
    Word& word = operands.c.data()[i];
    word = numerics::from_double(numerics::to_double(word, instruction.a_type), instruction.c_type());
  }
  prune(instruction, operands);
  return operands;
}

ShownOperands file_operands(const MmaInstruction& instruction, const check::vectors::MmaOperands& arrays,
                            const std::optional<check::vectors::MetadataInput>& metadata, std::size_t index) {
  if (metadata && !instruction.sparse) {
    throw base::InputError("show: a dense instruction takes no metadata");
  }
  const auto m = static_cast<std::size_t>(instruction.shape.m);
  const auto n = static_cast<std::size_t>(instruction.shape.n);
  const auto k = static_cast<std::size_t>(instruction.shape.k);
  const auto stored = static_cast<std::size_t>(metadata ? instruction.compressed_k() : instruction.shape.k);
  base::Matrix<Word> given = matrix_of(arrays.a, index, m, stored, instruction.a_type, "A", true);
  ShownOperands operands;
  operands.source = index == 0 ? "of files" : fmt::format("of files, case {}", index);
  operands.b = matrix_of(arrays.b, index, k, n, instruction.b_type, "B", false);
  operands.c = arrays.c.shape.empty() ? base::Matrix<Word>(m, n)
                                      : matrix_of(arrays.c, index, m, n, instruction.c_type(), "C", true);
  if (!metadata) {
    operands.a = std::move(given);
    prune(instruction, operands);
    return operands;
  }
  operands.compressed = {
      instruction.a_type, instruction.sparse_pattern(), k, std::move(given),
      padded(check::vectors::metadata_nibbles(*metadata, instruction, arrays.a.shape, index, "show"), m)};
  check_nibbles(operands.compressed, instruction);
  return operands;
}

}  // namespace sptc::report::show
