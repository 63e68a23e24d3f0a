// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/operands.h"

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "sim/workload/workload_text.h"

#include <algorithm>

namespace sptc::workload {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::array<std::string_view, 4> kDataKinds{"random", "integers", "zeros", "relu"};

/// N(0,1) would round to -3..3 in an 8-bit integer; 32 standard units use its range and saturate
/// one value in 15000. Of a 4-bit integer 2 standard units saturate one in 5000.
double normal_scale(DataType type) {
  return type == DataType::kS8 ? 32.0 : type == DataType::kS4 ? 2.0 : 1.0;
}

double element(DataKind kind, bool is_activation, const base::RandomStream& stream, std::uint64_t index,
               DataType type) {
  switch (kind) {
    case DataKind::kZeros:
      return 0;
    case DataKind::kIntegers:
      return static_cast<double>(stream.below(index, 17)) - 8;
    case DataKind::kRandom:
      return stream.normal(index) * normal_scale(type);
    case DataKind::kRelu: {
      const double value = stream.normal(index) * normal_scale(type);
      return is_activation ? std::max(0.0, value) : value;
    }
  }
  throw base::InternalError("unhandled kind of operand data");
}

std::vector<Word> vector_of(DataKind kind, bool is_activation, const base::RandomStream& root, const Operation& op,
                            std::int64_t batch, std::int64_t vector) {
  const base::RandomStream stream = root.fork(op.name).fork(is_activation ? "b" : "a").fork(std::to_string(batch));
  const auto k = static_cast<std::uint64_t>(op.shape.k);
  const std::uint64_t first = static_cast<std::uint64_t>(vector) * k;
  std::vector<Word> words(k);
  for (std::uint64_t i = 0; i < k; ++i) {
    words[i] = numerics::from_double(element(kind, is_activation, stream, first + i, op.dtype), op.dtype);
  }
  return words;
}

/// As many vectors of k words as `of` gives, [count, k].
template <typename VectorOf>
base::Matrix<Word> matrix_of(std::int64_t count, std::int64_t k, const VectorOf& of) {
  base::Matrix<Word> result(static_cast<std::size_t>(count), static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < count; ++i) {
    std::ranges::copy(of(i), result.row(static_cast<std::size_t>(i)).begin());
  }
  return result;
}

}  // namespace

DataKind parse_data_kind(std::string_view name) {
  return static_cast<DataKind>(place_among(kDataKinds, name, "unknown kind of data"));
}

std::string_view name(DataKind kind) {
  return kDataKinds.at(static_cast<std::size_t>(kind));
}

std::vector<Word> OperandSource::a_row(const Operation& op, std::int64_t batch, std::int64_t row) const {
  return vector_of(kind_, false, stream_, op, batch, row);
}

std::vector<Word> OperandSource::b_column(const Operation& op, std::int64_t batch, std::int64_t column) const {
  return vector_of(op.b_is_zero ? DataKind::kZeros : kind_, true, stream_, op, batch, column);
}

base::Matrix<Word> OperandSource::a(const Operation& op, std::int64_t batch) const {
  return matrix_of(op.shape.m, op.shape.k, [&](std::int64_t row) { return a_row(op, batch, row); });
}

base::Matrix<Word> OperandSource::b_columns(const Operation& op, std::int64_t batch) const {
  return matrix_of(op.shape.n, op.shape.k, [&](std::int64_t column) { return b_column(op, batch, column); });
}

}  // namespace sptc::workload
