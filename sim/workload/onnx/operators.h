// SPDX-License-Identifier: Apache-2.0
//
// What is known of each operator of ONNX, one row each, and what the rules of the rows share.
#pragma once

#include "models/base/shape.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/onnx/model.h"
#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

namespace sptc::workload::onnx {

/// The tensor of the model that a value is, or that it is the transpose of.
struct Origin {
  std::string_view raw;
  Type type = Type::kNone;
  Dims dims;
  bool transposed = false;
  /// What stands for 0 in a quantized tensor: one, or one for each place along `zero_axis`. None:
  /// not known, which of signed elements means 0.
  std::vector<float> zero_points{};
  std::size_t zero_axis = 0;  ///< of `dims`
};

/// What is known of a value of an ONNX graph.
struct Value {
  std::optional<Dims> dims;        ///< nothing: unknown
  std::optional<Numbers> numbers;  ///< its elements, where the model computes with shapes
  Type type = Type::kNone;
  bool constant = false;         ///< a weight, or made from weights alone
  bool quantized = false;        ///< comes through DequantizeLinear; `type` is that before it
  std::string lost;              ///< where the extents are unknown: why, a clause
  std::optional<Origin> origin;  ///< of a weight whose elements are known
  std::int64_t scale_block = 0;  ///< elements of K that share a scale; 0: a row or all
};

bool is_real(Type type);

Value constant_of(const Tensor& tensor);

/// The only element of `value`; nothing where it is not known, or one of several.
std::optional<double> only_number(const Value& value);
/// The elements of a value of integers; nothing where they are not known.
std::optional<Dims> integers_of(const Value& value);

/// Bounds the extents of `value`, and rounds its elements to its type. It keeps none where one is
/// not a number, they are not as many as its extents say, or too many.
void settle(Value& value);

/// Along the axes of convolutions and pools; nothing where the window does not fit.
struct Window {
  Dims kernel, stride, dilation, pads, output;
};
std::optional<Window> window_of(const Node& node, const Dims& input, const Dims& kernel);

/// The extents to which `a` and `b` broadcast; nothing where they do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);

/// `dims`, none of them negative or much beyond what a GEMM may have.
Dims bounded(Dims dims);

/// The origin of input `quantized` of `node` with the zero points of input `zero`, which stand
/// along `axis` where there are several. Nothing where they are not known.
std::optional<Origin> quantized_origin(const Node& node, const std::vector<Value>& inputs, std::size_t quantized,
                                       std::size_t zero, std::int64_t axis);

/// The values of the outputs of `node`, as far as they follow from its inputs.
std::vector<Value> infer_outputs(const Node& node, const std::vector<Value>& inputs);

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
  Type type = Type::kNone;                  ///< of the output; none: that which `output` says
  bool keeps_elements = false;              ///< those of its input, so that it does not end quantization
  Lowered (*lower)(const Call&) = nullptr;  ///< null: it launches no GEMM
  Operands operands{};
};
using Operators = std::unordered_map<std::string_view, Operator>;

/// The row of `op`; null: nothing is known of it.
const Operator* find_operator(std::string_view op);
inline bool launches_gemms(std::string_view op) {
  const Operator* const row = find_operator(op);
  return row != nullptr && row->lower != nullptr;
}

/// Operators that arrange elements anew: Reshape, Concat, Slice, ..
void add_arrangements(Operators& all);
/// Those whose extents or type are values of their operands or attributes: Range, Cast, ..
void add_values(Operators& all);
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

/// Exact up to 2^53; nothing where an extent is beyond what is kept of it.
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

std::vector<Value> split(const Node& node, const Inputs& inputs);

/// Integers of an input or, in older opsets, an attribute.
std::optional<Dims> parameter(const Node& node, const Inputs& inputs, std::size_t index, const char* attribute);

}  // namespace rule

namespace lowering {

/// A launch whose extents are not known, and why.
Lowered unknown(const Call& call, const Value& a, const Value& b);

/// A launch of `call`; `part` is what follows its name.
RecordedLaunch launch(const Call& call, const base::GemmShape& shape, std::int64_t batch, bool weight,
                      std::string dtype, std::string_view part = "");

/// The type of a product: that of a launch.
std::string type_of(const Node& node, const Value& x, const Value& w);

/// A value that flows through the network.
Value activation(const Dims& dims, Type type);

/// The values of a constant `operand` whose rows, or columns, are those of A [m, k], for each of
/// `batch`; nothing where they are not known.
std::shared_ptr<const WeightValues> matrix_of(const Call& call, const Value& operand, bool by_columns,
                                              const base::GemmShape& shape, std::int64_t batch = 1);

}  // namespace lowering

/// An operator as it was met: how many GEMMs came before it, and how often it runs.
struct Step {
  std::string op, name;
  std::optional<VectorKind> kind;   ///< by itself; nothing: it is only a part of formulas
  std::int64_t elements = 0;        ///< of its first output; 0: too many, or none
  std::int64_t columns = 0;         ///< of its first output
  std::int64_t input_elements = 0;  ///< of its first operand
  std::size_t after = 0;
  std::int64_t count = 1;
};

/// Nothing where `node` computes shapes or weights, or only renames axes.
std::optional<Step> step_of(const Node& node, const std::vector<Value>& inputs, const Value& output);

/// Layer normalisation, GELU and SiLU that were exported as their formulas are one each.
std::vector<VectorOperation> vector_operations(std::span<const Step> steps);

/// Where an element of the weight A [m, k] stands among those of a tensor: k counts the channels of
/// one tap of a filter, then those of the next. A matrix has one tap.
struct WeightLayout {
  std::int64_t batch_stride = 0, row_stride = 0;
  std::int64_t taps = 1, tap_stride = 0;
  std::int64_t channels = 0, channel_stride = 1;
};

/// A weight out of `bytes`, which stay as long as it; nothing where its values are not read.
std::shared_ptr<const WeightValues> onnx_weight(const std::shared_ptr<const ModelBytes>& bytes, const Origin& origin,
                                                const WeightLayout& layout);

/// The layout of a matrix; `by_columns`: its columns are the rows of A.
WeightLayout matrix_layout(const Dims& dims, bool by_columns);
/// The layout of filters [k, c, r, s..] in `groups`.
WeightLayout filter_layout(const Dims& dims, std::int64_t groups);

/// Marks weights that are 2:4 already as prunable; says what is known of values, a sentence each.
std::vector<std::string> mark_sparse_weights(std::vector<Operation>& operations);

}  // namespace sptc::workload::onnx
