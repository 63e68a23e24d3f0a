// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx_shapes.h"

#include "sim/workload/onnx_rule.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sptc::workload {
namespace {

using namespace onnx_rule;

OnnxValue same(const OnnxNode& /*node*/, const Inputs& in) {
  return at(in, 0);
}

std::int64_t combined(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add") {
    return __builtin_add_overflow(a, b, &result) ? 0 : result;
  }
  if (op == "Sub") {
    return __builtin_sub_overflow(a, b, &result) ? 0 : result;
  }
  if (op == "Mul") {
    return __builtin_mul_overflow(a, b, &result) ? 0 : result;
  }
  return b == 0 || b == -1 ? (b == -1 && a != INT64_MIN ? -a : 0) : a / b;
}

OnnxValue binary(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& a = at(in, 0);
  const OnnxValue& b = at(in, 1);
  std::optional<Dims> dims = a.dims;
  for (std::size_t i = 1; i < in.size() && dims; ++i) {
    dims = in[i].dims ? broadcast(*dims, *in[i].dims) : std::nullopt;
  }
  OnnxValue value = with_dims(a, dims);
  const bool arithmetic =
      node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div";
  if (arithmetic && a.integers && b.integers && !a.integers->empty() && !b.integers->empty()) {
    const std::size_t count = std::max(a.integers->size(), b.integers->size());
    Dims values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(combined(node.op, (*a.integers)[i % a.integers->size()],
                                (*b.integers)[i % b.integers->size()]));
    }
    value.integers = values;
  }
  return value;
}

OnnxValue where(const OnnxNode& /*node*/, const Inputs& in) {
  const auto& c = at(in, 0).dims;
  const auto& a = at(in, 1).dims;
  const auto& b = at(in, 2).dims;
  const auto both = a && b ? broadcast(*a, *b) : std::nullopt;
  return with_dims(at(in, 1), c && both ? broadcast(*c, *both) : std::nullopt);
}

OnnxValue pool(const OnnxNode& node, const Inputs& in) {
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

OnnxValue global_pool(const OnnxNode& /*node*/, const Inputs& in) {
  auto dims = at(in, 0).dims;
  for (std::size_t i = 2; dims && i < dims->size(); ++i) {
    (*dims)[i] = 1;
  }
  return with_dims(at(in, 0), dims);
}

OnnxValue shape(const OnnxNode& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  OnnxValue value;
  value.type = OnnxType::kInt64;
  if (x) {
    const auto bounded = [&](std::int64_t place) {
      return std::clamp<std::int64_t>(place < 0 ? place + size(*x) : place, 0, size(*x));
    };
    const std::int64_t begin = bounded(node.integer("start", 0));
    const std::int64_t end = std::max(begin, bounded(node.integer("end", size(*x))));
    value.integers = Dims(x->begin() + begin, x->begin() + end);
    value.dims = Dims{end - begin};
  }
  return value;
}

OnnxValue constant(const OnnxNode& node, const Inputs& /*in*/) {
  OnnxValue value;
  value.constant = true;
  const auto tensor = node.attributes.find("value");
  if (tensor != node.attributes.end() && tensor->second.tensor) {
    value.dims = tensor->second.tensor->dims;
    value.integers = tensor->second.tensor->integers;
    value.reals = tensor->second.tensor->reals;
    value.type = tensor->second.tensor->type;
  } else if (const auto ints = node.attributes.find("value_ints"); ints != node.attributes.end()) {
    value.integers = ints->second.integers;
    value.dims = Dims{size(ints->second.integers)};
  } else if (const auto one = node.attributes.find("value_int"); one != node.attributes.end()) {
    value.integers = Dims{one->second.integer};
    value.dims = Dims{};
  }
  return value;
}

OnnxValue constant_of_shape(const OnnxNode& /*node*/, const Inputs& in) {
  OnnxValue value = with_dims(at(in, 0), at(in, 0).integers);
  value.type = OnnxType::kFloat;
  return value;
}

OnnxValue reduce(const OnnxNode& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  if (!x) {
    return at(in, 0);
  }
  auto axes = parameter(node, in, 1, "axes");
  if (node.op == "ArgMax" || node.op == "ArgMin") {
    axes = Dims{node.integer("axis", 0)};
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  Dims dims;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const auto named = [&](std::int64_t axis) { return axis_of(axis, size(*x)) == i; };
    const bool reduced = !axes || axes->empty() || std::any_of(axes->begin(), axes->end(), named);
    if (!reduced || keep) {
      dims.push_back(reduced ? 1 : (*x)[i]);
    }
  }
  return with_dims(at(in, 0), dims);
}

/// (x, roi, scales, sizes), and (x, scales) in older opsets.
OnnxValue resize(const OnnxNode& /*node*/, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
  if (in.size() > 3 && in[3].integers) {
    return with_dims(x, in[3].integers);
  }
  const std::vector<float>& scales = at(in, in.size() > 2 ? 2 : 1).reals;
  if (!x.dims || scales.size() != x.dims->size()) {
    return with_dims(x, std::nullopt);
  }
  Dims dims = *x.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double extent = static_cast<double>(dims[i]) * static_cast<double>(scales[i]);
    if (!(extent >= 1 && extent <= static_cast<double>(kMaxExtent))) {
      return with_dims(x, std::nullopt);
    }
    dims[i] = static_cast<std::int64_t>(extent);
  }
  return with_dims(x, dims);
}

OnnxValue dequantize(const OnnxNode& /*node*/, const Inputs& in) {
  OnnxValue value = at(in, 0);
  value.quantized = true;
  return value;
}

OnnxValue cast(const OnnxNode& node, const Inputs& in) {
  OnnxValue value = at(in, 0);
  value.type = static_cast<OnnxType>(node.integer("to", 0));
  return value;
}

const OnnxRules& rules() {
  static const OnnxRules kRules = [] {
    OnnxRules all{{"Where", where},
                  {"MaxPool", pool},
                  {"AveragePool", pool},
                  {"GlobalAveragePool", global_pool},
                  {"GlobalMaxPool", global_pool},
                  {"Shape", shape},
                  {"Constant", constant},
                  {"ConstantOfShape", constant_of_shape},
                  {"Resize", resize},
                  {"Upsample", resize},
                  {"DequantizeLinear", dequantize},
                  {"Cast", cast}};
    for (const char* op : {"Relu",
                           "Sigmoid",
                           "Tanh",
                           "Erf",
                           "Sqrt",
                           "Exp",
                           "Log",
                           "Neg",
                           "Abs",
                           "Clip",
                           "LeakyRelu",
                           "HardSigmoid",
                           "HardSwish",
                           "Softmax",
                           "LogSoftmax",
                           "Identity",
                           "Dropout",
                           "BatchNormalization",
                           "LayerNormalization",
                           "InstanceNormalization",
                           "GroupNormalization",
                           "LRN",
                           "QuantizeLinear",
                           "Elu",
                           "Selu",
                           "Gelu",
                           "Floor",
                           "Ceil",
                           "Round",
                           "Not",
                           "Sign",
                           "Reciprocal",
                           "Softplus",
                           "Mish",
                           "PRelu",
                           "Trilu",
                           "CumSum",
                           "Celu",
                           "ThresholdedRelu",
                           "Sin",
                           "Cos",
                           "SkipLayerNormalization",
                           "FastGelu",
                           "BiasGelu",
                           "QuickGelu",
                           "ScatterND",
                           "SimplifiedLayerNormalization",
                           "RotaryEmbedding",
                           "LpNormalization",
                           "ImageScaler",
                           "Softsign"}) {
      all.emplace(op, same);
    }
    for (const char* op :
         {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Equal", "Greater",
          "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Mod", "Xor"}) {
      all.emplace(op, binary);
    }
    for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2",
                           "ReduceProd", "ReduceSumSquare", "ArgMax", "ArgMin"}) {
      all.emplace(op, reduce);
    }
    add_arrangement_rules(all);
    return all;
  }();
  return kRules;
}

}  // namespace

OnnxValue onnx_rule::with_dims(const OnnxValue& like, const std::optional<Dims>& dims) {
  OnnxValue value = like;
  value.integers.reset();
  value.reals.clear();
  value.dims.reset();
  if (dims && dims->size() <= kMaxRank) {
    value.dims = *dims;
  }
  return value;
}

std::optional<OnnxWindow> window_of(const OnnxNode& node, const OnnxDims& input,
                                    const OnnxDims& kernel) {
  const std::size_t axes = kernel.size();
  if (axes + 2 != input.size()) {
    return std::nullopt;
  }
  OnnxWindow window;
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
    window.output.push_back((room + (up != 0 ? window.stride[i] - 1 : 0)) / window.stride[i] + 1);
  }
  return window;
}

std::optional<OnnxDims> broadcast(const OnnxDims& a, const OnnxDims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  OnnxDims dims(rank, 1);
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

OnnxValue infer_output(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) {
    return {};
  }
  OnnxValue value = rule->second(node, inputs);
  const bool weights = std::all_of(inputs.begin(), inputs.end(),
                                   [](const OnnxValue& input) { return input.constant; });
  value.constant = node.op == "Constant" || (!inputs.empty() && weights);
  return value;
}

std::vector<OnnxValue> infer_split(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
  const OnnxValue& x = at(inputs, 0);
  std::vector<OnnxValue> outputs(node.outputs.size(), with_dims(x, std::nullopt));
  const auto axis = x.dims ? axis_of(node.integer("axis", 0), size(*x.dims)) : std::nullopt;
  if (!axis || outputs.empty()) {
    return outputs;
  }
  const auto parts = parameter(node, inputs, 1, "split");
  const auto count = static_cast<std::int64_t>(outputs.size());
  const std::int64_t each = ((*x.dims)[*axis] + count - 1) / count;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].dims = x.dims;
    const std::int64_t before = each * static_cast<std::int64_t>(i);
    (*outputs[i].dims)[*axis] =
        parts && i < parts->size() ? (*parts)[i] : std::min(each, (*x.dims)[*axis] - before);
  }
  return outputs;
}

}  // namespace sptc::workload
