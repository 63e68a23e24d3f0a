// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/pattern.h"
#include "sim/hardware/isa/operand.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/operand_storage.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>

namespace sptc::kernels {

/// What one launch computes: `batch` GEMMs D[m,n] = A[m,k] B[k,n].
struct GemmProblem {
  base::GemmShape shape;
  std::int64_t batch = 1;
  numerics::DataType dtype = numerics::DataType::kF16;
  bool sparse = false;  ///< A at an N:M pattern
  /// The pattern that mma.sp executes; nothing: the hardware's for the type.
  std::optional<sparsity::Pattern> pattern = std::nullopt;
  /// V:N:M weights: rows of A that share a choice of columns; `shape.k` counts those columns of
  /// the `source_k` that A and B have. 0: all columns.
  int vector_rows = 0;
  std::int64_t source_k = 0;
  /// Share of the elements of B that are distinct in DRAM: the windows of a convolution overlap,
  /// and what they share is fetched once and found in the L2.
  double distinct_b = 1;
  /// Type of D in memory; nothing: that of the operands, of integers the accumulator's.
  std::optional<numerics::DataType> d_dtype = std::nullopt;
  LaunchConditions conditions = {};
  /// What its epilogue does with an element of D beside converting and storing it [instructions of
  /// a lane]: bias, activation, scales.
  double epilogue_operations = 0;
  OperandStorage storage = {};
  /// Whether A and B, M and N have changed places: A is the activations, and B the weights.
  bool transposed = false;

  auto operator<=>(const GemmProblem&) const = default;

  /// Whether it is an integer kernel of a library: integers in memory, too.
  bool is_integer() const { return !numerics::info(dtype).is_float() && !storage.weight; }

  bool is_weight(isa::Operand operand) const { return (operand == isa::Operand::kB) == transposed; }
  double distinct(isa::Operand operand) const { return is_weight(operand) ? 1 : distinct_b; }

  GemmProblem turned() const {
    GemmProblem result = *this;
    std::swap(result.shape.m, result.shape.n);
    result.transposed = !transposed;
    return result;
  }

  base::GemmShape as_asked(base::GemmShape tile) const {
    return transposed ? base::GemmShape{tile.n, tile.m, tile.k} : tile;
  }

  int bits_of(isa::Operand operand) const {
    const int bits = numerics::storage_bits(dtype);
    return operand == isa::Operand::kA ? storage.a_bits(bits) : bits;
  }
};

}  // namespace sptc::kernels
