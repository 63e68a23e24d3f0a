// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/rule.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sptc::workload::onnx {
namespace {

using namespace rule;
using Numbers = std::vector<double>;

constexpr std::size_t kMaxReals = 64;

/// How many elements extents have; nothing where those beside 0, whose products strides are, have
/// more than kMaxIntegers.
std::optional<std::size_t> count_of(const Dims& dims) {
  std::size_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : dims) {
    if (extent < 0 || extent > static_cast<std::int64_t>(kMaxIntegers)) {
      return std::nullopt;
    }
    empty = empty || extent == 0;
    count *= static_cast<std::size_t>(std::max<std::int64_t>(extent, 1));
    if (count > kMaxIntegers) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(dims[i], 1);
  }
  return strides;
}

/// Elements of `from` at `offset` + index * stride over all indices below `dims`.
std::optional<Numbers> strided(const Numbers& from, std::int64_t offset, const Dims& dims,
                               const Dims& strides) {
  const auto count = count_of(dims);
  if (!count) {
    return std::nullopt;
  }
  Numbers result;
  Dims index(dims.size(), 0);
  for (std::size_t i = 0; i < *count; ++i) {
    std::int64_t place = offset;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      place += index[axis] * strides[axis];
    }
    if (place < 0 || place >= static_cast<std::int64_t>(from.size())) {
      return std::nullopt;
    }
    result.push_back(from[static_cast<std::size_t>(place)]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
  return result;
}

/// The elements of `value` as far as broadcasting to `dims` repeats them.
std::optional<Numbers> spread(const Value& value, const Dims& dims) {
  const auto numbers = numbers_of(value);
  if (!numbers || value.dims->size() > dims.size()) {
    return std::nullopt;
  }
  Dims strides = strides_of(*value.dims);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = (*value.dims)[i] == 1 ? 0 : strides[i];
  }
  strides.insert(strides.begin(), dims.size() - strides.size(), 0);
  return strided(*numbers, 0, dims, strides);
}

bool is_real(Type type) {
  return type == Type::kFloat || type == Type::kFloat16 || type == Type::kBfloat16 ||
         type == Type::kDouble;
}

void set_numbers(Value& value, const std::optional<Numbers>& numbers) {
  if (!numbers || std::any_of(numbers->begin(), numbers->end(),
                              [](double number) { return std::isnan(number); })) {
    return;
  }
  if (is_real(value.type)) {
    if (numbers->size() <= kMaxReals) {
      value.reals.assign(numbers->begin(), numbers->end());
    }
    return;
  }
  constexpr double kBeyond = 9.2e18;
  Dims integers;
  for (const double number : *numbers) {
    integers.push_back(value.type == Type::kBool ? std::int64_t{number != 0}
                       : number >= kBeyond       ? std::numeric_limits<std::int64_t>::max()
                       : number <= -kBeyond      ? std::numeric_limits<std::int64_t>::min()
                                                 : static_cast<std::int64_t>(number));
  }
  value.integers = std::move(integers);
}

using Unary = double (*)(double);
const std::unordered_map<std::string_view, Unary>& unary_functions() {
  static const std::unordered_map<std::string_view, Unary> kAll{
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : 0.0; }}};
  return kAll;
}

using Binary = double (*)(double, double);
const std::unordered_map<std::string_view, Binary>& binary_functions() {
  static const std::unordered_map<std::string_view, Binary> kAll{
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Mod", [](double a, double b) { return a - b * std::floor(a / b); }},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"Xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }}};
  return kAll;
}

bool is_truth(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

std::optional<Numbers> binary(const Node& node, Binary function, const Inputs& in,
                              const Value& output) {
  constexpr std::size_t kMostOperands = 64;  // of Min and Max; each is spread to all elements
  if (in.size() < 2 || in.size() > kMostOperands) {
    return std::nullopt;
  }
  std::optional<Numbers> result = spread(in[0], *output.dims);
  for (std::size_t i = 1; i < in.size() && result; ++i) {
    const auto other = spread(in[i], *output.dims);
    if (!other) {
      return std::nullopt;
    }
    for (std::size_t j = 0; j < result->size(); ++j) {
      const double value = function((*result)[j], (*other)[j]);
      (*result)[j] = node.op == "Div" && !is_real(output.type) ? std::trunc(value) : value;
    }
  }
  return result;
}

std::optional<Numbers> where(const Inputs& in, const Dims& dims) {
  const auto condition = spread(at(in, 0), dims);
  const auto yes = spread(at(in, 1), dims);
  const auto no = spread(at(in, 2), dims);
  if (!condition || !yes || !no) {
    return std::nullopt;
  }
  Numbers result;
  for (std::size_t i = 0; i < condition->size(); ++i) {
    result.push_back((*condition)[i] != 0 ? (*yes)[i] : (*no)[i]);
  }
  return result;
}

std::optional<Numbers> transpose(const Node& node, const Inputs& in, const Dims& dims) {
  const auto numbers = numbers_of(at(in, 0));
  Dims order;
  for (std::int64_t i = size(dims); i-- > 0;) {
    order.push_back(i);
  }
  order = node.integers("perm", order);
  if (!numbers || order.size() != dims.size()) {
    return std::nullopt;
  }
  const Dims from = strides_of(*in[0].dims);
  Dims strides;
  for (const std::int64_t axis : order) {
    strides.push_back(from[*axis_of(axis, size(dims))]);
  }
  return strided(*numbers, 0, dims, strides);
}

std::optional<Numbers> slice(const Node& node, const Inputs& in, const Dims& dims) {
  const auto numbers = numbers_of(at(in, 0));
  const auto slices = numbers ? slices_of(node, in) : std::nullopt;
  if (!slices) {
    return std::nullopt;
  }
  Dims strides = strides_of(*in[0].dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    offset += (*slices)[i].begin * strides[i];
    strides[i] *= (*slices)[i].step;
  }
  return strided(*numbers, offset, dims, strides);
}

std::optional<Numbers> gather(const Node& node, const Inputs& in, const Dims& dims) {
  const auto numbers = numbers_of(at(in, 0));
  const auto index = numbers_of(at(in, 1));
  const auto axis = numbers ? axis_of(node.integer("axis", 0), size(*in[0].dims)) : std::nullopt;
  if (!index || !axis || !count_of(dims)) {
    return std::nullopt;
  }
  const Dims& from = *in[0].dims;
  const auto inner = static_cast<std::size_t>(strides_of(from)[*axis]);
  const auto extent = static_cast<std::size_t>(from[*axis]);
  Numbers result;
  for (std::size_t outer = 0; extent > 0 && outer < numbers->size() / (inner * extent); ++outer) {
    for (const double place : *index) {
      const auto at_axis = axis_of(static_cast<std::int64_t>(place), from[*axis]);
      for (std::size_t i = 0; i < inner; ++i) {
        result.push_back(at_axis ? (*numbers)[(outer * extent + *at_axis) * inner + i]
                                 : std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  return result;
}

/// Of one axis, or along the first.
std::optional<Numbers> concat(const Node& node, const Inputs& in, const Dims& dims) {
  const auto axis = axis_of(node.integer("axis", 0), size(dims));
  Numbers result;
  for (const Value& part : in) {
    const auto numbers = numbers_of(part);
    if (!numbers || !axis || *axis != 0 || !count_of(dims)) {
      return std::nullopt;
    }
    result.insert(result.end(), numbers->begin(), numbers->end());
  }
  return result;
}

std::optional<Numbers> range(const Inputs& in, const Dims& dims) {
  const auto start = numbers_of(at(in, 0)), step = numbers_of(at(in, 2));
  const auto count = count_of(dims);
  if (!start || !step || start->size() != 1 || step->size() != 1 || !count) {
    return std::nullopt;
  }
  Numbers result;
  for (std::size_t i = 0; i < *count; ++i) {
    result.push_back(start->front() + static_cast<double>(i) * step->front());
  }
  return result;
}

std::optional<Numbers> constant_of_shape(const Node& node, const Dims& dims) {
  const auto count = count_of(dims);
  const auto found = node.attributes.find("value");
  double value = 0;
  if (found != node.attributes.end() && found->second.tensor) {
    const Tensor& tensor = *found->second.tensor;
    if (tensor.integers && !tensor.integers->empty()) {
      value = static_cast<double>(tensor.integers->front());
    } else if (!tensor.reals.empty()) {
      value = tensor.reals.front();
    } else {
      return std::nullopt;
    }
  }
  return count ? std::optional(Numbers(*count, value)) : std::nullopt;
}

/// Of all elements.
std::optional<Numbers> reduce(const Node& node, const Inputs& in, const Dims& dims) {
  const auto numbers = numbers_of(at(in, 0));
  if (!numbers || numbers->empty() || count_of(dims) != 1) {
    return std::nullopt;
  }
  double result = numbers->front();
  for (std::size_t i = 1; i < numbers->size(); ++i) {
    const double next = (*numbers)[i];
    result = node.op == "ReduceProd"  ? result * next
             : node.op == "ReduceSum" ? result + next
             : node.op == "ReduceMax" ? std::max(result, next)
                                      : std::min(result, next);
  }
  return Numbers{result};
}

std::optional<Numbers> folded(const Node& node, const Inputs& in, const Value& output) {
  static constexpr std::string_view kUnchanged[] = {"Identity", "Reshape", "Unsqueeze", "Squeeze",
                                                    "Flatten",  "Cast",    "Dropout"};
  static constexpr std::string_view kReductions[] = {"ReduceProd", "ReduceSum", "ReduceMax",
                                                     "ReduceMin"};
  const auto is_one_of = [&node](const auto& ops) {
    return std::find(std::begin(ops), std::end(ops), node.op) != std::end(ops);
  };
  const Dims& dims = *output.dims;
  const bool of_dividend = node.op == "Mod" && node.integer("fmod", 0) != 0;
  const auto two = binary_functions().find(of_dividend ? "fmod" : node.op);
  if (two != binary_functions().end()) {
    return binary(node, two->second, in, output);
  }
  const auto one = unary_functions().find(node.op);
  if (one != unary_functions().end()) {
    auto numbers = numbers_of(at(in, 0));
    if (numbers) {
      std::transform(numbers->begin(), numbers->end(), numbers->begin(), one->second);
    }
    return numbers;
  }
  return is_one_of(kUnchanged)          ? numbers_of(at(in, 0))
         : is_one_of(kReductions)       ? reduce(node, in, dims)
         : node.op == "Where"           ? where(in, dims)
         : node.op == "Expand"          ? spread(at(in, 0), dims)
         : node.op == "Transpose"       ? transpose(node, in, dims)
         : node.op == "Slice"           ? slice(node, in, dims)
         : node.op == "Gather"          ? gather(node, in, dims)
         : node.op == "Concat"          ? concat(node, in, dims)
         : node.op == "Range"           ? range(in, dims)
         : node.op == "ConstantOfShape" ? constant_of_shape(node, dims)
                                        : std::nullopt;
}

}  // namespace

std::optional<std::vector<double>> numbers_of(const Value& value) {
  if (!value.dims) {
    return std::nullopt;
  }
  std::optional<Numbers> numbers;
  if (value.integers) {
    numbers = Numbers(value.integers->begin(), value.integers->end());
  } else if (is_real(value.type) && !value.reals.empty()) {
    numbers = Numbers(value.reals.begin(), value.reals.end());
  }
  return numbers && count_of(*value.dims) == numbers->size() ? numbers : std::nullopt;
}

void fold(const Node& node, const Inputs& inputs, Value& output) {
  if (!output.dims || output.integers || !output.reals.empty()) {
    return;
  }
  const std::optional<Numbers> numbers = folded(node, inputs, output);
  output.type = is_truth(node.op) ? Type::kBool : output.type;
  if (numbers && count_of(*output.dims) == numbers->size()) {
    set_numbers(output, numbers);
  }
}

void fold_part(const Value& whole, std::size_t axis, std::int64_t begin, Value& output) {
  const auto numbers = numbers_of(whole);
  if (numbers && output.dims) {
    const Dims strides = strides_of(*whole.dims);
    set_numbers(output, strided(*numbers, begin * strides[axis], *output.dims, strides));
  }
}

}  // namespace sptc::workload::onnx
