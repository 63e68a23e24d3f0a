// SPDX-License-Identifier: Apache-2.0
//
// What is known of each operator of ONNX, one row each, and what the rules of the rows share.
#pragma once

#include "models/base/shape.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/onnx/model_bytes.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/onnx/weight.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::workload::onnx {

using Inputs = std::vector<Value>;

/// What an operator launches, some of it not taken, and what it yields.
struct Lowered {
  std::vector<RecordedLaunch> launches;
  std::vector<Value> outputs;
};

struct Call {
  const Node& node;
  const Inputs& inputs;
  const std::shared_ptr<const ModelBytes>& bytes;  ///< of the weights

  /// An input; one of which nothing is known where it is absent.
  const Value& input(std::size_t index) const;
};

/// Where a product has its second operand and, 0 for none, the zero points of both.
struct Operands {
  std::size_t second = 1, first_zero = 0, second_zero = 0;
};

/// Says what is known of the first output, which is like the first input and of unknown extents.
using Output = void (*)(const Node&, const Inputs&, Value&);

struct Operator {
  Output output = nullptr;    ///< null: the operator is not followed
  bool needs_extents = true;  ///< of its first input; else `output` looks whether they are known
  /// What it does with an element, or two that stand in one place; null: something else.
  double (*function)(double, double) = nullptr;
  Type type = Type::kNone;      ///< of the output; none: that which `output` says
  bool keeps_elements = false;  ///< those of its input, so that it does not end quantization
  Lowered (*lower)(const Call&) = nullptr;  ///< null: it launches no GEMM
  Operands operands{};
};
using Operators = std::unordered_map<std::string_view, Operator>;

/// The row of `op`; null: nothing is known of it.
const Operator* find_operator(std::string_view op);
/// Whether operators `op` launch GEMMs.
inline bool launches_gemms(std::string_view op) {
  const Operator* const row = find_operator(op);
  return row != nullptr && row->lower != nullptr;
}

/// Operators that arrange elements anew: Reshape, Concat, Slice, ..
void add_arrangements(Operators& all);
/// Those whose extents or type are values of their operands or attributes: Range, Cast, ..
void add_values(Operators& all);
/// Products and convolutions.
void add_products(Operators& all);
/// Recurrences, attention and sums of products.
void add_layers(Operators& all);

namespace rule {

inline std::int64_t size(const Dims& dims) {
  return static_cast<std::int64_t>(dims.size());
}

/// An input; one of which nothing is known where it is absent.
const Value& at(const Inputs& inputs, std::size_t index);

/// An axis counted from the front; nothing where there is no such axis.
std::optional<std::size_t> axis_of(std::int64_t axis, std::int64_t rank);

/// How many elements extents have; exact up to 2^53. Nothing where one is beyond what is kept of
/// it.
std::optional<double> elements_of(const Dims& dims);

/// How many elements may be known; nothing where extents beside 0, whose products strides are,
/// have more than kMaxIntegers.
std::optional<std::size_t> count_of(const Dims& dims);

/// `like` with other extents, of at most kMaxRank axes, and without its elements.
Value with_dims(const Value& like, const std::optional<Dims>& dims);

/// The elements of `value` as far as broadcasting to `dims` repeats them.
std::optional<Numbers> spread(const Value& value, const Dims& dims);

/// All inputs, which are of one kind, one behind the other.
void concat(const Node& node, const Inputs& in, Value& y);

/// The outputs of a Split.
std::vector<Value> split(const Node& node, const Inputs& inputs);

/// Integers of an input or, in older opsets, an attribute.
std::optional<Dims> parameter(const Node& node, const Inputs& inputs, std::size_t index,
                              const char* attribute);

}  // namespace rule

namespace lowering {

/// A launch whose extents are not known, and why.
Lowered unknown(const Call& call, const Value& a, const Value& b);

/// A launch of `call`; `part` is what follows its name.
RecordedLaunch launch(const Call& call, const base::GemmShape& shape, std::int64_t batch,
                      bool weight, std::string dtype, std::string_view part = "");

/// The type of a product: that of a launch.
std::string type_of(const Node& node, const Value& x, const Value& w);

/// A value that flows through the network.
Value activation(const Dims& dims, Type type);

/// The values of a constant `operand` whose rows, or columns, are those of A [m, k], for each of
/// `batch`; nothing where they are not known.
std::shared_ptr<const WeightValues> matrix_of(const Call& call, const Value& operand,
                                              bool by_columns, const base::GemmShape& shape,
                                              std::int64_t batch = 1);

}  // namespace lowering
}  // namespace sptc::workload::onnx
