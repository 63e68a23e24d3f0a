// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/shapes.h"

#include "sim/workload/launch_list.h"
#include "sim/workload/onnx/rule.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace sptc::workload::onnx {
namespace {

using namespace rule;

Value same(const Node& /*node*/, const Inputs& in) {
  return with_dims(at(in, 0), at(in, 0).dims);
}

Value binary(const Node& /*node*/, const Inputs& in) {
  std::optional<Dims> dims = at(in, 0).dims;
  for (std::size_t i = 1; i < in.size() && dims; ++i) {
    dims = in[i].dims ? broadcast(*dims, *in[i].dims) : std::nullopt;
  }
  return with_dims(at(in, 0), dims);
}

Value where(const Node& /*node*/, const Inputs& in) {
  const auto& c = at(in, 0).dims;
  const auto& a = at(in, 1).dims;
  const auto& b = at(in, 2).dims;
  const auto both = a && b ? broadcast(*a, *b) : std::nullopt;
  return with_dims(at(in, 1), c && both ? broadcast(*c, *both) : std::nullopt);
}

/// (a, scale, zero point, b, scale, zero point, of the output)
Value quantized_binary(const Node& node, const Inputs& in) {
  return binary(node, {at(in, 0), at(in, 3)});
}

/// (scale and zero point of the output, a, scale, zero point, ..)
Value quantized_concat(const Node& node, const Inputs& in) {
  Inputs tensors;
  for (std::size_t i = 2; i < in.size(); i += 3) {
    tensors.push_back(in[i]);
  }
  return concat(node, tensors);
}

/// (condition, a, scale, zero point, b, ..)
Value quantized_where(const Node& node, const Inputs& in) {
  return where(node, {at(in, 0), at(in, 1), at(in, 4)});
}

Value pool(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  if (!x || x->size() < 3) {
    return with_dims(at(in, 0), std::nullopt);
  }
  const auto window = window_of(node, *x, node.integers("kernel_shape", {}));
  Dims dims{(*x)[0], (*x)[1]};
  if (!window) {
    return with_dims(at(in, 0), std::nullopt);
  }
  dims.insert(dims.end(), window->output.begin(), window->output.end());
  return with_dims(at(in, 0), dims);
}

Value global_pool(const Node& /*node*/, const Inputs& in) {
  auto dims = at(in, 0).dims;
  for (std::size_t i = 2; dims && i < dims->size(); ++i) {
    (*dims)[i] = 1;
  }
  return with_dims(at(in, 0), dims);
}

Value reduce(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  if (!x) {
    return at(in, 0);
  }
  auto axes = parameter(node, in, 1, "axes");
  Value like = at(in, 0);
  if (node.op == "ArgMax" || node.op == "ArgMin") {
    axes = Dims{node.integer("axis", 0)};
    like.type = Type::kInt64;
    like.quantized = false;
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  if ((!axes || axes->empty()) && node.integer("noop_with_empty_axes", 0) != 0) {
    return with_dims(at(in, 0), x);
  }
  Dims dims;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const auto named = [&](std::int64_t axis) { return axis_of(axis, size(*x)) == i; };
    const bool reduced = !axes || axes->empty() || std::any_of(axes->begin(), axes->end(), named);
    if (!reduced || keep) {
      dims.push_back(reduced ? 1 : (*x)[i]);
    }
  }
  return with_dims(like, dims);
}

/// (a, scale, zero point, of the output); its axes are an attribute.
Value quantized_mean(const Node& node, const Inputs& in) {
  return reduce(node, {at(in, 0)});
}

/// (x, roi, scales, sizes), and (x, scales) in older opsets; both are of `axes`, or of all.
Value resize(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  const std::optional<Dims>& sizes = at(in, 3).integers;
  const std::vector<float>& scales = at(in, in.size() > 2 ? 2 : 1).reals;
  const auto policy = node.attributes.find("keep_aspect_ratio_policy");
  const bool stretches = policy == node.attributes.end() || policy->second.text == "stretch";
  if (sizes && stretches && !node.attributes.contains("axes")) {
    return with_dims(x, sizes);
  }
  if (!x.dims || (sizes && !stretches)) {
    return with_dims(x, std::nullopt);
  }
  Dims dims = *x.dims, all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  const Dims axes = node.integers("axes", all);
  if (axes.size() != (sizes ? sizes->size() : scales.size())) {
    return with_dims(x, std::nullopt);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], size(dims));
    if (!axis) {
      return with_dims(x, std::nullopt);
    }
    const double extent =
        sizes ? static_cast<double>((*sizes)[i])
              : static_cast<double>((*x.dims)[*axis]) * static_cast<double>(scales[i]);
    if (!(extent >= 1 && extent <= static_cast<double>(kMaxExtent))) {
      return with_dims(x, std::nullopt);
    }
    dims[*axis] = static_cast<std::int64_t>(extent);
  }
  return with_dims(x, dims);
}

/// Whether its output has elements of its input, which quantization does not leave.
bool keeps_elements(std::string_view op) {
  static const Rules kArrangements = [] {
    Rules all;
    add_arrangement_rules(all);
    return all;
  }();
  static constexpr std::string_view kOthers[] = {
      "DequantizeLinear", "Identity", "Cast", "MaxPool", "Relu", "Clip", "Dropout"};
  return kArrangements.contains(op) ||
         std::find(std::begin(kOthers), std::end(kOthers), op) != std::end(kOthers);
}

/// Operators whose output has the extents of their first input.
constexpr std::string_view kLikeTheFirst[] = {
    "Relu", "Sigmoid", "Tanh", "Erf", "Sqrt", "Exp", "Log", "Neg", "Abs", "Clip", "LeakyRelu",
    "HardSigmoid", "HardSwish",
    // Norms, and others.
    "Softmax", "LogSoftmax", "Identity", "Dropout", "BatchNormalization", "LayerNormalization",
    "InstanceNormalization", "GroupNormalization", "LRN", "DynamicQuantizeLinear", "IsNaN", "IsInf",
    "Hardmax", "MeanVarianceNormalization", "RMSNormalization", "SkipSimplifiedLayerNormalization",
    "SkipGroupNorm", "GroupNorm", "Swish", "Shrink", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh",
    "BitwiseNot", "EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli",
    "ScatterElements", "Scatter", "ReverseSequence", "QLinearSigmoid", "QLinearLeakyRelu",
    "QLinearSoftmax", "QuickGelu", "Elu", "Selu", "Gelu", "Floor", "Ceil", "Round", "Not", "Sign",
    "Reciprocal", "Softplus", "Mish", "PRelu", "Trilu", "CumSum", "Celu", "ThresholdedRelu", "Sin",
    "Cos", "SkipLayerNormalization", "FastGelu", "BiasGelu", "ScatterND",
    "SimplifiedLayerNormalization", "RotaryEmbedding", "LpNormalization", "ImageScaler",
    "Softsign"};
/// Those whose operands are broadcast.
constexpr std::string_view kBroadcasts[] = {
    "Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean",
    // Comparisons and bits.
    "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Mod", "Xor",
    "BitwiseAnd", "BitwiseOr", "BitShift"};
/// Those that take axes together.
constexpr std::string_view kReductions[] = {
    "ReduceMean",      "ReduceSum", "ReduceMax",    "ReduceMin",       "ReduceL2", "ReduceProd",
    "ReduceSumSquare", "ReduceL1",  "ReduceLogSum", "ReduceLogSumExp", "ArgMax",   "ArgMin"};

const Rules& rules() {
  static const Rules kRules = [] {
    Rules all{{"Where", where},
              {"MaxPool", pool},
              {"AveragePool", pool},
              {"GlobalAveragePool", global_pool},
              {"GlobalMaxPool", global_pool},
              {"Resize", resize},
              {"Upsample", resize},
              {"LpPool", pool},
              {"QLinearAveragePool", pool},
              {"QLinearAdd", quantized_binary},
              {"QLinearMul", quantized_binary},
              {"QLinearConcat", quantized_concat},
              {"QLinearWhere", quantized_where},
              {"QLinearReduceMean", quantized_mean},
              {"GlobalLpPool", global_pool},
              {"QLinearGlobalAveragePool", global_pool}};
    for (const std::string_view op : kLikeTheFirst) {
      all.emplace(op, same);
    }
    for (const std::string_view op : kBroadcasts) {
      all.emplace(op, binary);
    }
    for (const std::string_view op : kReductions) {
      all.emplace(op, reduce);
    }
    add_arrangement_rules(all);
    add_value_rules(all);
    return all;
  }();
  return kRules;
}

std::vector<Value> split(const Node& node, const Inputs& inputs) {
  const Value& x = at(inputs, 0);
  std::vector<Value> outputs(node.outputs.size(), with_dims(x, std::nullopt));
  const auto axis = x.dims ? axis_of(node.integer("axis", 0), size(*x.dims)) : std::nullopt;
  if (!axis || outputs.empty()) {
    return outputs;
  }
  const auto parts = parameter(node, inputs, 1, "split");
  const auto count = static_cast<std::int64_t>(outputs.size());
  const std::int64_t each = ((*x.dims)[*axis] + count - 1) / count;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].dims = x.dims;
    std::int64_t& extent = (*outputs[i].dims)[*axis];
    extent = parts && i < parts->size() ? (*parts)[i] : std::min(each, extent - begin);
    if (begin < 0 || begin > kMaxExtent || extent < 0) {
      return std::vector<Value>(node.outputs.size(), with_dims(x, std::nullopt));
    }
    fold_part(x, *axis, begin, outputs[i]);
    begin += extent;
  }
  return outputs;
}

}  // namespace

Value rule::with_dims(const Value& like, const std::optional<Dims>& dims) {
  Value value = like;
  value.integers.reset();
  value.reals.clear();
  value.dims.reset();
  if (dims && dims->size() <= kMaxRank) {
    value.dims = bounded(*dims);
  }
  return value;
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
  if (window.stride.size() != axes || window.dilation.size() != axes ||
      window.pads.size() != 2 * axes) {
    return std::nullopt;
  }
  const auto found = node.attributes.find("auto_pad");
  const std::string padding = found == node.attributes.end() ? "" : found->second.text;
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
      const std::int64_t all =
          std::max<std::int64_t>(0, (wanted - 1) * window.stride[i] + reach - extent);
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

namespace {

Value infer_output(const Node& node, const Inputs& inputs) {
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) {
    return {};
  }
  Value value = rule->second(node, inputs);
  if (value.quantized && !keeps_elements(node.op)) {
    value.quantized = false;
    value.type = Type::kFloat;
  }
  fold(node, inputs, value);
  bool weights = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool absent = i < node.inputs.size() && node.inputs[i].empty();
    weights = weights && (absent || inputs[i].constant);
  }
  value.constant = node.op == "Constant" || (!inputs.empty() && weights);
  return value;
}

}  // namespace

std::optional<Origin> quantized_origin(const Node& node, const std::vector<Value>& inputs,
                                       std::size_t quantized, std::size_t zero, std::int64_t axis) {
  std::optional<Origin> origin = at(inputs, quantized).origin;
  if (!origin) {
    return std::nullopt;
  }
  const bool is_real = origin->type == Type::kFloat || origin->type == Type::kFloat16 ||
                       origin->type == Type::kBfloat16 || origin->type == Type::kDouble;
  if (is_real || zero >= node.inputs.size() || node.inputs[zero].empty()) {
    origin->zero_points = {0};  // QuantizeLinear makes 0 of 0
    return origin;
  }
  const auto numbers = numbers_of(at(inputs, zero));
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
                     node.op == "SkipLayerNormalization" ||
                     node.op == "SkipSimplifiedLayerNormalization";
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
