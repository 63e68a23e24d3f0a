// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/prune.h"
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
    operands.compressed = sparsity::compress(
        sparsity::prune_by_magnitude(operands.a, instruction.a_type), instruction.a_type);
  }
}

/// `rows` rows, of which those that the array lacks are zeros.
base::Matrix<Word> matrix_of(const check::vectors::BitArray& array, std::size_t index,
                             std::size_t rows) {
  base::Matrix<Word> matrix(rows, array.shape[2]);
  const std::size_t count = array.shape[1] * array.shape[2];
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

/// Throws InputError unless `array` holds matrices [rows, cols] of `type`; `fewer` rows do, too.
void require_matrix(const check::vectors::BitArray& array, std::size_t rows, std::size_t cols,
                    numerics::DataType type, const char* name, bool fewer) {
  if (array.shape.size() != 3 || array.shape[1] > rows || array.shape[1] == 0 ||
      (array.shape[1] != rows && !fewer) || array.shape[2] != cols ||
      array.element_bytes != check::vectors::element_bytes(type)) {
    throw base::InputError(fmt::format("show: {} must be [{}, {}] of {} bytes each, not [{}] of {}",
                                       name, rows, cols, check::vectors::element_bytes(type),
                                       fmt::join(array.shape, ", "), array.element_bytes));
  }
}

void require_case(const check::vectors::BitArray& array, std::size_t index, const char* name) {
  if (index >= array.shape[0]) {
    throw base::InputError(
        fmt::format("show: --case {} is outside {}, which holds {}", index, name, array.shape[0]));
  }
}

void check_nibbles(const sparsity::CompressedMatrix& matrix, const MmaInstruction& instruction) {
  for (std::size_t row = 0; row < matrix.nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < matrix.nibbles.cols(); ++group) {
      if (!sparsity::is_valid_nibble(matrix.nibbles(row, group), matrix.pattern)) {
        throw base::InputError(
            fmt::format("show: the metadata of row {}, group {} is 0x{:x}, which "
                        "names no two places of {}",
                        row, group, matrix.nibbles(row, group), matrix.pattern.name()));
      }
      if (instruction.needs_order() && !sparsity::is_ordered_nibble(matrix.nibbles(row, group))) {
        throw base::InputError(
            fmt::format("show: the indices of row {}, group {} (0x{:x}) do not rise: "
                        ".sp::ordered_metadata leaves such a D undefined (PTX ISA), .sp does not",
                        row, group, matrix.nibbles(row, group)));
      }
    }
  }
}

}  // namespace

ShownOperands generated_operands(const MmaInstruction& instruction, const std::string& data,
                                 std::uint64_t seed) {
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
    word =
        numerics::from_double(numerics::to_double(word, instruction.a_type), instruction.c_type());
  }
  prune(instruction, operands);
  return operands;
}

ShownOperands file_operands(const MmaInstruction& instruction,
                            const check::vectors::MmaOperands& arrays,
                            const std::optional<check::vectors::MetadataInput>& metadata,
                            std::size_t index) {
  if (metadata && !instruction.sparse) {
    throw base::InputError("show: a dense instruction takes no metadata");
  }
  const auto m = static_cast<std::size_t>(instruction.shape.m);
  const auto n = static_cast<std::size_t>(instruction.shape.n);
  const auto k = static_cast<std::size_t>(instruction.shape.k);
  const auto stored =
      static_cast<std::size_t>(metadata ? instruction.compressed_k() : instruction.shape.k);
  require_matrix(arrays.a, m, stored, instruction.a_type, "A", true);
  require_matrix(arrays.b, k, n, instruction.b_type, "B", false);
  require_case(arrays.a, index, "A");
  require_case(arrays.b, index, "B");
  ShownOperands operands;
  operands.source = index == 0 ? "of files" : fmt::format("of files, case {}", index);
  operands.b = matrix_of(arrays.b, index, k);
  operands.c = base::Matrix<Word>(m, n);
  if (!arrays.c.shape.empty()) {
    require_matrix(arrays.c, m, n, instruction.c_type(), "C", true);
    require_case(arrays.c, index, "C");
    operands.c = matrix_of(arrays.c, index, m);
  }
  if (!metadata) {
    operands.a = matrix_of(arrays.a, index, m);
    prune(instruction, operands);
    return operands;
  }
  operands.compressed = {
      instruction.a_type, instruction.sparse_pattern(), k, matrix_of(arrays.a, index, m),
      padded(
          check::vectors::metadata_nibbles(*metadata, instruction, arrays.a.shape, index, "show"),
          m)};
  check_nibbles(operands.compressed, instruction);
  return operands;
}

}  // namespace sptc::report::show
