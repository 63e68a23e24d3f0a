// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix_fwd.h"
#include "models/base/random.h"
#include "models/numerics/data_type.h"
#include "sim/workload/workload.h"

namespace sptc::workload {

enum class DataKind {
  kRandom,    ///< N(0,1) rounded to the type; s8: N(0,1)*32, s4: N(0,1)*2, rounded and saturated
  kIntegers,  ///< uniform on -8..8
  kZeros,
  kRelu,  ///< A random; B the positive part of random: what a ReLU leaves, half zeros
};

/// "random", "integers", "zeros", "relu". Throws InputError with the nearest of them.
DataKind parse_data_kind(std::string_view name);
std::string_view name(DataKind kind);

/// Seeded operands, element by element a function of (seed, operation name, operand, batch entry,
/// row, column), the same on every platform. Weights are unpruned.
class OperandSource {
 public:
  OperandSource(DataKind kind, std::uint64_t seed) : kind_(kind), stream_(seed) {}

  /// Row `row` of A [m, k] of entry `batch`: k words of op.dtype.
  std::vector<numerics::Word> a_row(const Operation& op, std::int64_t batch, std::int64_t row) const;
  /// Column `column` of B [k, n] of entry `batch`: k words of op.dtype.
  std::vector<numerics::Word> b_column(const Operation& op, std::int64_t batch, std::int64_t column) const;

  /// All of A: [m, k].
  base::Matrix<numerics::Word> a(const Operation& op, std::int64_t batch) const;
  /// All of B, transposed: [n, k].
  base::Matrix<numerics::Word> b_columns(const Operation& op, std::int64_t batch) const;

 private:
  DataKind kind_;
  base::RandomStream stream_;
};

}  // namespace sptc::workload
