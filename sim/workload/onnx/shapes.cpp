// SPDX-License-Identifier: Apache-2.0

#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sptc::workload::onnx {
namespace {

using namespace rule;

void same(const Node& /*node*/, const Inputs& in, Value& y) {
  y.dims = in[0].dims;
}

void binary(const Node& /*node*/, const Inputs& in, Value& y) {
  y.dims = in[0].dims;
  for (std::size_t i = 1; i < in.size() && y.dims; ++i) {
    y.dims = in[i].dims ? broadcast(*y.dims, *in[i].dims) : std::nullopt;
  }
}

/// (condition, a, b)
void where(const Node& node, const Inputs& in, Value& y) {
  y = with_dims(at(in, 1), std::nullopt);
  binary(node, {in[0], at(in, 1), at(in, 2)}, y);
  const Dims dims = y.dims.value_or(Dims{});
  const auto condition = spread(in[0], dims), no = spread(at(in, 2), dims);
  y.numbers = condition && no ? spread(at(in, 1), dims) : std::nullopt;
  for (std::size_t i = 0; y.numbers && i < y.numbers->size(); ++i) {
    (*y.numbers)[i] = (*condition)[i] != 0 ? (*y.numbers)[i] : (*no)[i];
  }
}

/// (a, scale, zero point, b, scale, zero point, of the output)
void quantized_binary(const Node& node, const Inputs& in, Value& y) {
  binary(node, {in[0], at(in, 3)}, y);
}

/// (scale and zero point of the output, a, scale, zero point, ..)
void quantized_concat(const Node& node, const Inputs& in, Value& y) {
  Inputs tensors;
  for (std::size_t i = 2; i < in.size(); i += 3) {
    tensors.push_back(in[i]);
  }
  y = with_dims(at(tensors, 0), std::nullopt);
  concat(node, tensors, y);
  y.numbers.reset();
}

void pool(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  const auto window = window_of(node, x, node.integers("kernel_shape", {}));
  if (window && x.size() > 2) {
    y.dims = Dims{x[0], x[1]};
    y.dims->insert(y.dims->end(), window->output.begin(), window->output.end());
  }
}

void global_pool(const Node& /*node*/, const Inputs& in, Value& y) {
  y.dims = in[0].dims;
  for (std::size_t i = 2; i < y.dims->size(); ++i) {
    (*y.dims)[i] = 1;
  }
}

void reduce(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  auto axes = parameter(node, in, 1, "axes");
  if (node.op == "ArgMax" || node.op == "ArgMin") {
    axes = Dims{node.integer("axis", 0)};
    y.type = Type::kInt64;
    y.quantized = false;
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  const bool all = !axes || axes->empty();
  const bool none = all && node.integer("noop_with_empty_axes", 0) != 0;
  y.dims.emplace();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto named = [&](std::int64_t axis) { return axis_of(axis, size(x)) == i; };
    const bool reduced = !none && (all || std::any_of(axes->begin(), axes->end(), named));
    if (!reduced || keep) {
      y.dims->push_back(reduced ? 1 : x[i]);
    }
  }
}

/// (x, roi, scales, sizes), and (x, scales) in older opsets: of all axes.
void resize(const Node& node, const Inputs& in, Value& y) {
  const auto& x = at(in, 0).dims;
  const auto& scales = at(in, in.size() > 2 ? 2 : 1).numbers;
  const Attribute* const policy = node.find("keep_aspect_ratio_policy");
  const bool stretches = policy == nullptr || policy->text == "stretch";
  if (!stretches || node.find("axes") != nullptr) {
    return;
  }
  y.dims = integers_of(at(in, 3));
  if (y.dims || !x || !scales || x->size() != scales->size()) {
    return;
  }
  Dims dims;
  for (std::size_t i = 0; i < scales->size(); ++i) {
    const double extent = static_cast<double>((*x)[i]) * (*scales)[i];
    if (!(extent >= 1 && extent <= static_cast<double>(kMaxExtent))) {
      return;
    }
    dims.push_back(static_cast<std::int64_t>(extent));
  }
  y.dims = dims;
}

/// `F` of two elements that stand in one place.
template <typename F>
double of_two(double a, double b) {
  return F{}(a, b);
}

struct FunctionRow {
  std::string_view op;
  Output output;
  double (*function)(double, double);  ///< of those whose output is `same`: of the first alone
};
constexpr FunctionRow kFunctions[] = {{"Neg", same, [](double x, double) { return -x; }},
                                      {"Abs", same, [](double x, double) { return std::fabs(x); }},
                                      {"Floor", same, [](double x, double) { return std::floor(x); }},
                                      {"Ceil", same, [](double x, double) { return std::ceil(x); }},
                                      {"Sqrt", same, [](double x, double) { return std::sqrt(x); }},
                                      {"Add", binary, of_two<std::plus<>>},
                                      {"Sub", binary, of_two<std::minus<>>},
                                      {"Mul", binary, of_two<std::multiplies<>>},
                                      {"Div", binary, of_two<std::divides<>>},
                                      {"Mod", binary, [](double a, double b) { return a - b * std::floor(a / b); }},
                                      {"Pow", binary, [](double a, double b) { return std::pow(a, b); }},
                                      {"Min", binary, [](double a, double b) { return std::min(a, b); }},
                                      {"Max", binary, [](double a, double b) { return std::max(a, b); }},
                                      {"ReduceSum", reduce, of_two<std::plus<>>},
                                      {"ReduceProd", reduce, of_two<std::multiplies<>>},
                                      {"ReduceMin", reduce, [](double a, double b) { return std::min(a, b); }},
                                      {"ReduceMax", reduce, [](double a, double b) { return std::max(a, b); }}};
constexpr FunctionRow kTruths[] = {{"Not", same, [](double x, double) { return x == 0 ? 1.0 : 0; }},
                                   {"Equal", binary, of_two<std::equal_to<>>},
                                   {"Greater", binary, of_two<std::greater<>>},
                                   {"GreaterOrEqual", binary, of_two<std::greater_equal<>>},
                                   {"Less", binary, of_two<std::less<>>},
                                   {"LessOrEqual", binary, of_two<std::less_equal<>>},
                                   {"And", binary, of_two<std::logical_and<>>},
                                   {"Or", binary, of_two<std::logical_or<>>}};

Operators all_operators() {
  Operators all;
  const auto add = [&all](std::initializer_list<std::string_view> ops, const Operator& row) {
    for (const std::string_view op : ops) {
      all.emplace(op, row);
    }
  };
  for (const auto& [op, output, function] : kFunctions) {
    add({op}, {.output = output, .function = function});
  }
  for (const auto& [op, output, function] : kTruths) {
    add({op}, {.output = output, .function = function, .type = Type::kBool});
  }
  // The extents of the first input.
  add({"Sigmoid", "Tanh", "Erf", "Exp", "Log", "LeakyRelu", "HardSigmoid", "HardSwish", "QuickGelu", "Elu", "Selu",
       "Gelu", "FastGelu", "BiasGelu", "Swish", "Softplus", "Mish", "PRelu", "Celu", "Softsign", "Sin", "Cos", "Round",
       "Sign", "Reciprocal", "IsNaN", "IsInf",
       // Norms, and others.
       "Softmax", "LogSoftmax", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
       "GroupNormalization", "LRN", "DynamicQuantizeLinear", "GroupNorm", "MeanVarianceNormalization",
       "RMSNormalization", "SkipSimplifiedLayerNormalization", "SkipGroupNorm", "SkipLayerNormalization",
       "SimplifiedLayerNormalization", "LpNormalization", "Trilu", "CumSum", "ScatterND", "ScatterElements", "EyeLike",
       "RandomNormalLike", "RandomUniformLike", "RotaryEmbedding", "QLinearSigmoid", "QLinearLeakyRelu",
       "QLinearSoftmax"},
      {.output = same});
  add({"Relu", "Clip"}, {.output = same, .keeps_elements = true});
  // Those to which the operands broadcast.
  add({"Sum", "Mean", "Xor", "BitwiseAnd", "BitwiseOr", "BitShift"}, {.output = binary});
  add({"Where"}, {.output = where});
  add({"QLinearAdd", "QLinearMul"}, {.output = quantized_binary});
  add({"QLinearConcat"}, {.output = quantized_concat, .needs_extents = false});
  // Axes taken together.
  add({"ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ArgMax", "ArgMin"},
      {.output = reduce});
  add({"MaxPool"}, {.output = pool, .keeps_elements = true});
  add({"AveragePool", "LpPool", "QLinearAveragePool"}, {.output = pool});
  add({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool"}, {.output = global_pool});
  add({"Resize", "Upsample"}, {.output = resize, .needs_extents = false});
  add_arrangements(all);
  add_values(all);
  add_products(all);
  add_layers(all);
  return all;
}

/// The elements of an output that the function of `row` makes of known ones.
std::optional<Numbers> computed(const Operator& row, const Inputs& in, const Dims& dims) {
  if (row.output == reduce) {  // of all elements
    const auto& all = at(in, 0).numbers;
    return !all || all->empty() || count_of(dims) != 1
               ? std::nullopt
               : std::optional(Numbers{std::accumulate(all->begin() + 1, all->end(), all->front(), row.function)});
  }
  constexpr std::size_t kMostOperands = 64;  // of Min and Max; each is spread to all elements
  const bool is_unary = row.output == same;
  const std::size_t operands = is_unary ? 2 : in.size();  // an element, and what is not looked at
  if (operands < 2 || operands > kMostOperands) {
    return std::nullopt;
  }
  auto result = spread(at(in, 0), dims);
  for (std::size_t i = 1; i < operands && result; ++i) {
    const auto other = spread(at(in, is_unary ? 0 : i), dims);
    if (!other) {
      return std::nullopt;
    }
    std::transform(result->begin(), result->end(), other->begin(), result->begin(), row.function);
  }
  return result;
}

Value infer_output(const Node& node, const Inputs& inputs) {
  const Operator* const row = find_operator(node.op);
  if (row == nullptr || row->output == nullptr) {
    return {};
  }
  Value value = with_dims(at(inputs, 0), std::nullopt);
  if (at(inputs, 0).dims || !row->needs_extents) {
    row->output(node, inputs, value);
  }
  if (value.quantized && !row->keeps_elements) {
    value.quantized = false;
    value.type = Type::kFloat;
  }
  if (value.dims && row->function != nullptr && node.integer("fmod", 0) == 0) {
    value.numbers = computed(*row, inputs, *value.dims);
  }
  if (value.dims && row->type != Type::kNone) {
    value.type = row->type;
  }
  settle(value);
  bool weights = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool absent = i < node.inputs.size() && node.inputs[i].empty();
    weights = weights && (absent || inputs[i].constant);
  }
  value.constant = node.op == "Constant" || (!inputs.empty() && weights);
  return value;
}

}  // namespace

const Operator* find_operator(std::string_view op) {
  static const Operators kAll = all_operators();
  const auto found = kAll.find(op);
  return found == kAll.end() ? nullptr : &found->second;
}

const Value& rule::at(const Inputs& inputs, std::size_t index) {
  static const Value kNone;
  return index < inputs.size() ? inputs[index] : kNone;
}

std::optional<std::size_t> rule::axis_of(std::int64_t axis, std::int64_t rank) {
  axis += axis < 0 ? rank : 0;
  return axis < 0 || axis >= rank ? std::nullopt : std::optional(static_cast<std::size_t>(axis));
}

std::optional<double> rule::elements_of(const Dims& dims) {
  double elements = 1;
  for (const std::int64_t extent : dims) {
    if (extent > kMaxExtent) {
      return std::nullopt;
    }
    elements *= static_cast<double>(extent);
  }
  return elements;
}

std::optional<Dims> rule::parameter(const Node& node, const Inputs& inputs, std::size_t index, const char* attribute) {
  if (auto integers = integers_of(at(inputs, index))) {
    return integers;
  }
  const Attribute* const found = node.find(attribute);
  return found == nullptr ? std::nullopt : std::optional(found->integers);
}

Value rule::with_dims(const Value& like, const std::optional<Dims>& dims) {
  Value value = like;
  value.numbers.reset();
  value.origin.reset();
  value.dims = dims;
  settle(value);
  return value;
}

bool is_real(Type type) {
  return type == Type::kFloat || type == Type::kFloat16 || type == Type::kBfloat16 || type == Type::kDouble;
}

Value constant_of(const Tensor& tensor) {
  Value value;
  value.dims = tensor.dims;
  value.numbers = tensor.numbers;
  value.type = tensor.type;
  value.constant = true;
  value.origin = Origin{tensor.raw, tensor.type, tensor.dims};
  settle(value);
  return value;
}

std::optional<double> only_number(const Value& value) {
  return value.numbers && value.numbers->size() == 1 ? std::optional(value.numbers->front()) : std::nullopt;
}

std::optional<Dims> integers_of(const Value& value) {
  if (!value.numbers || is_real(value.type)) {
    return std::nullopt;
  }
  constexpr double kBeyond = 9.2e18;
  Dims integers;
  for (const double number : *value.numbers) {
    integers.push_back(number >= kBeyond    ? std::numeric_limits<std::int64_t>::max()
                       : number <= -kBeyond ? std::numeric_limits<std::int64_t>::min()
                                            : static_cast<std::int64_t>(number));
  }
  return integers;
}

void settle(Value& value) {
  if (value.dims && value.dims->size() <= kMaxRank) {
    value.dims = bounded(*value.dims);
  } else {
    value.dims.reset();
    value.numbers.reset();
  }
  if (!value.numbers) {
    return;
  }
  const bool real = is_real(value.type);
  Numbers& numbers = *value.numbers;
  if (count_of(*value.dims) != numbers.size() || (real && numbers.size() > kMaxReals) ||
      std::ranges::any_of(numbers, [](double one) { return std::isnan(one); })) {
    value.numbers.reset();
    return;
  }
  for (double& number : numbers) {
    number = real                        ? static_cast<float>(number)
             : value.type == Type::kBool ? (number != 0 ? 1 : 0)
                                         : std::clamp(std::trunc(number), -0x1p63, 0x1p63);
  }
}

Dims bounded(Dims dims) {
  for (std::int64_t& extent : dims) {
    extent = std::clamp<std::int64_t>(extent, 0, kMaxExtent + 1);
  }
  return dims;
}

std::optional<Window> window_of(const Node& node, const Dims& input, const Dims& kernel) {
  const std::size_t axes = kernel.size();
  if (axes + 2 != input.size()) {
    return std::nullopt;
  }
  Window window;
  window.kernel = kernel;
  window.stride = node.integers("strides", Dims(axes, 1));
  window.dilation = node.integers("dilations", Dims(axes, 1));
  window.pads = node.integers("pads", Dims(2 * axes, 0));
  if (window.stride.size() != axes || window.dilation.size() != axes || window.pads.size() != 2 * axes) {
    return std::nullopt;
  }
  const Attribute* const automatic = node.find("auto_pad");
  const std::string padding = automatic == nullptr ? "" : automatic->text;
  const std::int64_t up = node.integer("ceil_mode", 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = input[i + 2];
    for (const std::int64_t factor : {extent, kernel[i], window.stride[i], window.dilation[i]}) {
      if (factor < 1 || factor > kMaxExtent) {
        return std::nullopt;
      }
    }
    const std::int64_t reach = window.dilation[i] * (kernel[i] - 1) + 1;
    std::int64_t& before = window.pads[i];
    std::int64_t& after = window.pads[i + axes];
    if (padding.starts_with("SAME")) {
      const std::int64_t wanted = (extent + window.stride[i] - 1) / window.stride[i];
      const std::int64_t all = std::max<std::int64_t>(0, (wanted - 1) * window.stride[i] + reach - extent);
      before = padding == "SAME_LOWER" ? (all + 1) / 2 : all / 2;
      after = all - before;
    }
    if (before < 0 || after < 0 || before > kMaxExtent || after > kMaxExtent) {
      return std::nullopt;
    }
    const std::int64_t room = extent + before + after - reach;
    if (room < 0) {
      return std::nullopt;
    }
    std::int64_t last = (room + (up != 0 ? window.stride[i] - 1 : 0)) / window.stride[i];
    if (up != 0 && last * window.stride[i] >= extent + before) {
      --last;  // it would begin in the padding behind the input
    }
    window.output.push_back(last + 1);
  }
  return window;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims dims(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      return std::nullopt;
    }
    dims[rank - 1 - i] = left == 1 ? right : left;
  }
  return dims;
}

std::optional<Origin> quantized_origin(const Node& node, const std::vector<Value>& inputs, std::size_t quantized,
                                       std::size_t zero, std::int64_t axis) {
  std::optional<Origin> origin = at(inputs, quantized).origin;
  if (!origin) {
    return std::nullopt;
  }
  if (is_real(origin->type) || zero >= node.inputs.size() || node.inputs[zero].empty()) {
    origin->zero_points = {0};  // QuantizeLinear makes 0 of 0
    return origin;
  }
  const auto& numbers = at(inputs, zero).numbers;
  const std::int64_t rank = size(origin->dims);
  const auto place = axis_of(axis, rank);
  if (!numbers || numbers->empty()) {
    return std::nullopt;
  }
  if (numbers->size() > 1) {
    if (!place || (origin->transposed && rank != 2)) {
      return std::nullopt;
    }
    origin->zero_axis = origin->transposed ? 1 - *place : *place;
    if (origin->dims[origin->zero_axis] != static_cast<std::int64_t>(numbers->size())) {
      return std::nullopt;
    }
  }
  origin->zero_points.assign(numbers->begin(), numbers->end());
  return origin;
}

std::vector<Value> infer_outputs(const Node& node, const std::vector<Value>& inputs) {
  if (node.op == "Split" && !node.outputs.empty()) {
    return split(node, inputs);
  }
  std::vector<Value> outputs(std::max<std::size_t>(1, node.outputs.size()));
  outputs[0] = infer_output(node, inputs);
  const bool alike = node.op == "TopK" || node.op == "MaxPool" || node.op == "Dropout" ||
                     node.op == "SkipLayerNormalization" || node.op == "SkipSimplifiedLayerNormalization";
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (alike) {
      outputs[i] = with_dims(outputs[0], outputs[0].dims);
    } else if (node.op == "DynamicQuantizeLinear") {  // scale and zero point
      outputs[i].dims = Dims{};
      outputs[i].type = i == 1 ? Type::kFloat : Type::kUint8;
    }
  }
  if (node.op == "DynamicQuantizeLinear") {
    outputs[0].type = Type::kUint8;
  }
  return outputs;
}

}  // namespace sptc::workload::onnx
