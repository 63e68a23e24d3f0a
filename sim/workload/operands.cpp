// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/operands.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace sptc::workload {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::array<std::pair<std::string_view, DataKind>, 4> kKinds = {{
    {"random", DataKind::kRandom},
    {"integers", DataKind::kIntegers},
    {"zeros", DataKind::kZeros},
    {"relu", DataKind::kRelu},
}};

/// N(0,1) would round to -3..3 in an 8-bit integer; 32 standard units use its range and saturate
/// one value in 15000. Of a 4-bit integer 2 standard units saturate one in 5000.
double normal_scale(DataType type) {
  return type == DataType::kS8 ? 32.0 : type == DataType::kS4 ? 2.0 : 1.0;
}

double element(DataKind kind, bool is_activation, const base::RandomStream& stream,
               std::uint64_t index, DataType type) {
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

std::vector<Word> vector_of(DataKind kind, bool is_activation, const base::RandomStream& root,
                            const Operation& op, std::int64_t batch, std::int64_t vector) {
  const base::RandomStream stream =
      root.fork(op.name).fork(is_activation ? "b" : "a").fork(std::to_string(batch));
  const auto k = static_cast<std::uint64_t>(op.shape.k);
  const std::uint64_t first = static_cast<std::uint64_t>(vector) * k;
  std::vector<Word> words(k);
  for (std::uint64_t i = 0; i < k; ++i) {
    words[i] =
        numerics::from_double(element(kind, is_activation, stream, first + i, op.dtype), op.dtype);
  }
  return words;
}

}  // namespace

DataKind parse_data_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [known, kind] : kKinds) {
    if (known == name) {
      return kind;
    }
    names.push_back(known);
  }
  throw base::InputError("unknown kind of data " + base::unknown_name(name, names));
}

std::string_view name(DataKind kind) {
  for (const auto& [known, known_kind] : kKinds) {
    if (known_kind == kind) {
      return known;
    }
  }
  throw base::InternalError("kind of operand data without a name");
}

std::vector<Word> OperandSource::a_row(const Operation& op, std::int64_t batch,
                                       std::int64_t row) const {
  return vector_of(kind_, false, stream_, op, batch, row);
}

std::vector<Word> OperandSource::b_column(const Operation& op, std::int64_t batch,
                                          std::int64_t column) const {
  return vector_of(op.b_is_zero ? DataKind::kZeros : kind_, true, stream_, op, batch, column);
}

base::Matrix<Word> OperandSource::a(const Operation& op, std::int64_t batch) const {
  base::Matrix<Word> result(static_cast<std::size_t>(op.shape.m),
                            static_cast<std::size_t>(op.shape.k));
  for (std::int64_t row = 0; row < op.shape.m; ++row) {
    std::ranges::copy(a_row(op, batch, row), result.row(static_cast<std::size_t>(row)).begin());
  }
  return result;
}

base::Matrix<Word> OperandSource::b_columns(const Operation& op, std::int64_t batch) const {
  base::Matrix<Word> result(static_cast<std::size_t>(op.shape.n),
                            static_cast<std::size_t>(op.shape.k));
  for (std::int64_t column = 0; column < op.shape.n; ++column) {
    std::ranges::copy(b_column(op, batch, column),
                      result.row(static_cast<std::size_t>(column)).begin());
  }
  return result;
}

}  // namespace sptc::workload
