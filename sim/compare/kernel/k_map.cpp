// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/k_map.h"

#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sptc::compare::kernel {
namespace {

/// Units of `width` columns of `from` by `map`; `empty` where it has zeros.
template <typename T>
base::Matrix<T> units_of(const base::Matrix<T>& from, const std::vector<std::int64_t>& map,
                         std::size_t width, T empty) {
  base::Matrix<T> result(from.rows(), map.size() * width, empty);
  for (std::size_t row = 0; row < from.rows(); ++row) {
    const auto source = from.row(row).begin();
    auto target = result.row(row).begin();
    for (const std::int64_t unit : map) {
      if (unit >= 0) {
        std::copy_n(source + unit * static_cast<std::int64_t>(width), width, target);
      }
      target += static_cast<std::ptrdiff_t>(width);
    }
  }
  return result;
}

}  // namespace

KMap KMap::identity(std::size_t units) {
  KMap map;
  map.a.resize(units);
  std::iota(map.a.begin(), map.a.end(), std::int64_t{0});
  map.b = map.a;
  return map;
}

std::size_t unit_of(const mma::MmaInstruction& instruction) {
  return instruction.sparse
             ? static_cast<std::size_t>(sparsity::hardware_pattern(instruction.a_type).group)
             : 1;
}

void rearrange(KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction) {
  const auto kept = static_cast<std::size_t>(
      instruction.sparse ? sparsity::hardware_pattern(instruction.a_type).kept : 1);
  operands.a = units_of(operands.a, map.a, kept, numerics::Word{0});
  if (instruction.sparse) {
    operands.nibbles = units_of(operands.nibbles, map.a, 1, sparsity::kEmptyGroupNibble);
  }
  operands.b_columns = units_of(operands.b_columns, map.b, unit_of(instruction), numerics::Word{0});
}

}  // namespace sptc::compare::kernel
