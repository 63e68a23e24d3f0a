// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/golden_cases.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "tests/hardware/capture/operand_image.h"

#include <algorithm>

namespace sptc::hardware {
namespace {

using mma::MmaInstruction;
using numerics::DataType;

struct Extents {
  std::size_t m, n, b_rows, a_cols;
};

/// Dot products [case, 1, k] x [case, k, 1], eight on the diagonal of each case.
void place_on_diagonal(const compare::vectors::VectorSet& set,
                       const compare::vectors::VectorOutput& output, const Extents& extents,
                       CaseSet& result) {
  const std::size_t per_case = extents.n;
  const std::size_t published = set.cases();
  const std::size_t cases = (published + per_case - 1) / per_case;
  compare::vectors::MmaOperands& to = result.operands;
  to.a = compare::vectors::make_bit_array({cases, extents.m, extents.a_cols},
                                          set.operands.a.element_bytes);
  to.b = compare::vectors::make_bit_array({cases, extents.b_rows, extents.n},
                                          set.operands.b.element_bytes);
  to.c = compare::vectors::make_bit_array({cases, extents.m, extents.n}, output.c.element_bytes);
  for (std::size_t i = 0; i < published; ++i) {
    const std::size_t index = i / per_case;
    const std::size_t line = i % per_case;
    for (std::size_t k = 0; k < extents.b_rows; ++k) {
      to.a.bits[(index * extents.m + line) * extents.a_cols + k] = set.operands.a.at(i, 0, k);
      to.b.bits[(index * extents.b_rows + k) * extents.n + line] = set.operands.b.at(i, k, 0);
    }
    to.c.bits[(index * extents.m + line) * extents.n + line] = output.c.at(i, 0, 0);
  }
}

/// [case, rows, cols] with rows of zeros below.
compare::vectors::BitArray with_rows(const compare::vectors::BitArray& from, std::size_t rows) {
  compare::vectors::BitArray result =
      compare::vectors::make_bit_array({from.shape[0], rows, from.shape[2]}, from.element_bytes);
  const std::size_t from_size = from.shape[1] * from.shape[2];
  for (std::size_t index = 0; index < from.shape[0]; ++index) {
    std::copy_n(from.bits.begin() + static_cast<std::ptrdiff_t>(index * from_size), from_size,
                result.bits.begin() + static_cast<std::ptrdiff_t>(index * rows * from.shape[2]));
  }
  return result;
}

/// Metadata of the rows that a set stores; groups of missing rows keep their first positions.
void place_metadata(const compare::vectors::BitArray& indices, const Extents& extents,
                    std::uint64_t seed, CaseSet& result) {
  const DataType type = result.instruction.a_type;
  const OperandImage image(result.instruction);
  const base::RandomStream stream = base::RandomStream(seed).fork("golden selectors");
  const std::size_t rows = indices.shape[1];
  const std::size_t per_case = rows * indices.shape[2];
  result.operands.indices =
      compare::vectors::make_bit_array({indices.shape[0], extents.m, extents.a_cols}, 4);
  result.operands.indices->bits.clear();
  for (std::size_t index = 0; index < indices.shape[0]; ++index) {
    const auto first = indices.bits.begin() + static_cast<std::ptrdiff_t>(index * per_case);
    const base::Matrix<std::uint8_t> stored =
        nibbles_of({first, first + static_cast<std::ptrdiff_t>(per_case)}, rows, type);
    base::Matrix<std::uint8_t> nibbles(extents.m, stored.cols(), 0b0100);
    std::copy_n(stored.data(), stored.size(), nibbles.data());
    const auto all = indices_of(nibbles, type);
    result.operands.indices->bits.insert(result.operands.indices->bits.end(), all.begin(),
                                         all.end());
    result.nibbles.push_back(std::move(nibbles));
    result.selectors.push_back(
        static_cast<int>(stream.below(index, static_cast<std::uint64_t>(image.selectors()))));
  }
}

}  // namespace

std::optional<CaseSet> golden_cases(const compare::vectors::VectorSet& set,
                                    const compare::vectors::VectorOutput& output,
                                    std::uint64_t seed) {
  MmaInstruction instruction = output.instruction;
  if (instruction.family == mma::MmaFamily::kTcgen05) {
    return std::nullopt;
  }
  if (instruction.family == mma::MmaFamily::kWgmma) {
    instruction.shape.n = 8;
  }
  const std::size_t packing = instruction.a_type == DataType::kB1 ? 8 : 1;
  const Extents extents{static_cast<std::size_t>(instruction.shape.m),
                        static_cast<std::size_t>(instruction.shape.n),
                        static_cast<std::size_t>(instruction.shape.k) / packing,
                        static_cast<std::size_t>(instruction.compressed_k()) / packing};
  const bool is_dot = set.operands.rows() == 1 && set.operands.columns() == 1;
  if (set.operands.b.shape[1] != extents.b_rows ||
      (!is_dot && set.operands.columns() != extents.n)) {
    return std::nullopt;
  }
  CaseSet result;
  result.instruction = instruction;
  const std::filesystem::path folder = std::filesystem::path(set.file).parent_path().filename();
  result.name = "golden-" + (folder.empty() ? std::string("set") : folder.string());
  result.source = "operands of " + set.file;
  if (is_dot) {
    place_on_diagonal(set, output, extents, result);
  } else {
    result.operands.a = with_rows(set.operands.a, extents.m);
    result.operands.b = set.operands.b;
    result.operands.c = with_rows(output.c, extents.m);
    if (set.category_of_case) {
      result.categories = set.categories;
      result.category_of_case = set.category_of_case->bits;
    }
  }
  if (result.categories.empty()) {
    result.categories = {"published"};
    result.category_of_case.assign(result.cases(), 0);
  }
  if (instruction.sparse) {
    place_metadata(*set.operands.indices, extents, seed, result);
  }
  return result;
}

std::vector<CaseSet> golden_sets(const std::filesystem::path& directory, std::uint64_t seed) {
  std::vector<CaseSet> sets;
  for (const auto& file : compare::vectors::find_vector_sets(directory)) {
    const compare::vectors::VectorSet set = compare::vectors::read_vector_set(file, directory);
    for (const compare::vectors::VectorOutput& output : set.outputs) {
      const auto is_same = [&](const CaseSet& known) {
        return known.instruction == output.instruction && known.source == "operands of " + set.file;
      };
      if (std::any_of(sets.begin(), sets.end(), is_same)) {
        continue;  // two hypotheses about the same instruction
      }
      if (auto cases = golden_cases(set, output, seed)) {
        sets.push_back(std::move(*cases));
      }
    }
  }
  return sets;
}

}  // namespace sptc::hardware
