// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/onnx_model.h"
#include "sim/workload/onnx_shapes.h"
#include "sim/workload/onnx_weight.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sptc::workload {
namespace {

constexpr std::string_view kTf32Note =
    "ONNX says no type of computation: float GEMMs are taken as TF32, quantized ones as INT8; "
    "--dtype f16 changes all of them";

template <std::size_t count>
bool is_one_of(std::string_view op, const std::array<std::string_view, count>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

constexpr std::array<std::string_view, 5> kProducts{"MatMul", "FusedMatMul", "MatMulInteger",
                                                    "QLinearMatMul", "Gemm"};
constexpr std::array<std::string_view, 4> kConvolutions{"Conv", "FusedConv", "ConvInteger",
                                                        "QLinearConv"};
constexpr std::array<std::string_view, 9> kOthers{
    "LSTM", "GRU", "RNN", "Attention", "QAttention", "MultiHeadAttention", "GroupQueryAttention",
    "MoE",  "QMoE"};

class Walker {
 public:
  Walker(const OnnxGraph& graph, const ImportOptions& options, const std::string& file,
         std::shared_ptr<const std::string> model)
      : options_(options), file_(file), model_(std::move(model)), dims_(options.dims, file) {
    for (const OnnxInput& value : graph.values) {
      const bool whole = value.has_shape && std::all_of(value.dims.begin(), value.dims.end(),
                                                        [](auto extent) { return extent > 0; });
      if (whole) {
        stated_.emplace(value.name, &value);
      }
    }
    refuse_unknown_inputs(graph);
    for (const OnnxTensor& tensor : graph.initializers) {
      values_[tensor.name] = {tensor.dims, tensor.integers, tensor.reals, tensor.type,
                              true,        false,           "",           origin_of(tensor)};
    }
    for (const OnnxInput& input : graph.inputs) {
      if (!values_.contains(input.name)) {
        values_[input.name] = {input_dims(input), std::nullopt, {}, input.type, false, false, ""};
      }
    }
    for (const OnnxNode& node : graph.nodes) {
      visit(node);
    }
    dims_.refuse_unused();
  }

  LaunchList take() && { return std::move(list_); }

 private:
  OnnxDims input_dims(const OnnxInput& input) {
    const auto given = options_.inputs.find(input.name);
    if (given != options_.inputs.end()) {
      return given->second;
    }
    if (!input.has_shape) {
      throw base::InputError(
          fmt::format("{}: the shape of the input '{}' is open: give it, for example "
                      "--input {}=1,3,224,224",
                      file_, io::printable(input.name), io::printable(input.name)));
    }
    OnnxDims dims = input.dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) {
        const std::string& name = input.dim_names[i];
        dims[i] =
            name.empty() ? open_axis(input, i) : dims_.value(name, io::printable(name) + "=1");
      }
    }
    return dims;
  }

  /// An extent without a name is called by its input and axis.
  std::int64_t open_axis(const OnnxInput& input, std::size_t axis) {
    const std::string name = fmt::format("{}.{}", input.name, axis);
    return dims_.value(name, io::printable(name) + "=1");
  }

  void refuse_unknown_inputs(const OnnxGraph& graph) const {
    for (const auto& [name, dims] : options_.inputs) {
      std::vector<std::string_view> names;
      for (const OnnxInput& input : graph.inputs) {
        names.emplace_back(input.name);
      }
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        throw base::InputError(fmt::format("--input: {} has no input {}", file_,
                                           base::unknown_name(io::printable(name), names)));
      }
    }
  }

  void visit(const OnnxNode& node) {
    std::vector<OnnxValue> inputs;
    for (const std::string& name : node.inputs) {
      const auto found = values_.find(name);
      inputs.push_back(found == values_.end() ? OnnxValue{} : found->second);
    }
    if (is_one_of(node.op, kProducts)) {
      set(node, 0, product(node, inputs));
    } else if (is_one_of(node.op, kConvolutions)) {
      set(node, 0, convolution(node, inputs));
    } else if (node.op == "ConvTranspose") {
      set(node, 0, transposed_convolution(node, inputs));
    } else if (node.op == "MatMulNBits") {
      set(node, 0, packed_product(node, inputs));
    } else if (node.op == "Split") {
      const std::vector<OnnxValue> outputs = infer_split(node, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        set(node, i, outputs[i]);
      }
    } else {
      if (is_one_of(node.op, kOthers)) {
        leave(node, "recurrence, attention or experts in one operator");
      }
      leave_inner(node, node);
      OnnxValue value = infer_output(node, inputs);
      value.origin = origin_behind(node, inputs);
      inherit_loss(node, inputs, value);
      set(node, 0, std::move(value));
    }
  }

  static OnnxOrigin origin_of(const OnnxTensor& tensor) {
    return {tensor.raw, tensor.type, tensor.dims, false};
  }

  /// Of a constant, and of what only changes its type or swaps its two axes.
  static std::optional<OnnxOrigin> origin_behind(const OnnxNode& node,
                                                 const std::vector<OnnxValue>& inputs) {
    if (node.op == "Constant") {
      const auto value = node.attributes.find("value");
      return value != node.attributes.end() && value->second.tensor
                 ? std::optional(origin_of(*value->second.tensor))
                 : std::nullopt;
    }
    std::optional<OnnxOrigin> origin = inputs.empty() ? std::nullopt : inputs[0].origin;
    if (!origin || node.op == "Identity" || node.op == "Cast" || node.op == "DequantizeLinear") {
      return origin;
    }
    const bool swaps = node.op == "Transpose" && origin->dims.size() == 2 &&
                       node.integers("perm", {1, 0}) == OnnxDims{1, 0};
    origin->transposed = !origin->transposed;
    return swaps ? origin : std::nullopt;
  }

  /// The values of the matrix `operand`, whose rows, or columns, are those of A [m, k].
  std::shared_ptr<const WeightValues> matrix_of(const OnnxValue& operand, bool by_columns,
                                                std::int64_t m, std::int64_t k) const {
    if (!operand.constant || !operand.origin) {
      return nullptr;
    }
    by_columns = by_columns != operand.origin->transposed;
    const OnnxDims stored = by_columns ? OnnxDims{k, m} : OnnxDims{m, k};
    return operand.origin->dims == stored
               ? onnx_weight(model_, *operand.origin, matrix_layout(stored, by_columns))
               : nullptr;
  }

  /// Which operator lost the extents, for the reason of what follows.
  static void inherit_loss(const OnnxNode& node, const std::vector<OnnxValue>& inputs,
                           OnnxValue& value) {
    if (value.dims) {
      value.lost_at.clear();
      return;
    }
    value.lost_at = node.op;
    for (const OnnxValue& input : inputs) {
      if (!input.lost_at.empty()) {
        value.lost_at = input.lost_at;
      }
    }
  }

  /// GEMMs of branches and loops: how often they run is not in the model.
  void leave_inner(const OnnxNode& outer, const OnnxNode& node) {
    for (const auto& [key, attribute] : node.attributes) {
      for (const OnnxGraph& graph : attribute.graphs) {
        for (const OnnxNode& inner : graph.nodes) {
          if (is_one_of(inner.op, kProducts) || is_one_of(inner.op, kConvolutions)) {
            leave(inner, "inside " + outer.op + ": how often it runs is not in the model");
          }
          leave_inner(outer, inner);
        }
      }
    }
  }

  void set(const OnnxNode& node, std::size_t output, OnnxValue value) {
    if (output >= node.outputs.size() || node.outputs[output].empty()) {
      return;
    }
    const auto stated = stated_.find(node.outputs[output]);
    if (!value.dims && stated != stated_.end()) {
      value.dims = stated->second->dims;
      value.lost_at.clear();
      value.type = value.type == OnnxType::kNone ? stated->second->type : value.type;
    }
    values_[node.outputs[output]] = std::move(value);
  }

  static std::string name_of(const OnnxNode& node) {
    return !node.name.empty() ? node.name : node.outputs.empty() ? node.op : node.outputs.front();
  }

  void leave(const OnnxNode& node, const std::string& reason) {
    RecordedLaunch launch;
    launch.op.name = name_of(node);
    launch.reason = reason;
    list_.add(std::move(launch), file_);
  }

  OnnxValue leave_unknown(const OnnxNode& node, const OnnxValue& a, const OnnxValue& b) {
    const std::string& lost = a.dims ? b.lost_at : a.lost_at;
    leave(node, lost.empty() ? "the shapes of its operands do not fit"
                             : "its shape is not known: the operator " + io::printable(lost) +
                                   " is not followed");
    OnnxValue value;
    value.lost_at = lost.empty() ? node.op : lost;
    return value;
  }

  static std::string type_of(const OnnxNode& node, const OnnxValue& x, const OnnxValue& w) {
    const bool integers = node.op.find("Integer") != std::string::npos ||
                          node.op.starts_with("QLinear") || (x.quantized && w.quantized);
    const OnnxType type = integers || !x.quantized ? x.type
                          : w.quantized            ? OnnxType::kFloat
                                                   : w.type;
    switch (type) {
      case OnnxType::kFloat16:
        return "f16";
      case OnnxType::kBfloat16:
        return "bf16";
      case OnnxType::kE4m3:
        return "e4m3";
      case OnnxType::kE5m2:
        return "e5m2";
      case OnnxType::kDouble:
        return "f64";
      default:
        return integers ? "s8" : "tf32";
    }
  }

  void add(const OnnxNode& node, const base::GemmShape& shape, std::int64_t batch, bool weight,
           const std::string& dtype, std::shared_ptr<const WeightValues> values = nullptr) {
    RecordedLaunch launch;
    launch.op.name = name_of(node);
    launch.op.shape = shape;
    launch.op.batch = batch;
    launch.weight = weight;
    launch.dtype = dtype;
    launch.op.weight = std::move(values);
    list_.add(std::move(launch), file_ + ": " + io::printable(name_of(node)));
  }

  OnnxValue product(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
    const OnnxValue none;
    const bool quantized = node.op == "QLinearMatMul";  // (a, scale, zero point, b, ..)
    const OnnxValue& a = inputs.empty() ? none : inputs[0];
    const OnnxValue& b = inputs.size() > (quantized ? 3U : 1U) ? inputs[quantized ? 3 : 1] : none;
    if (!a.dims || !b.dims || a.dims->empty() || b.dims->empty()) {
      return leave_unknown(node, a, b);
    }
    OnnxDims left = *a.dims, right = *b.dims;
    if (left.size() == 1) {
      left.insert(left.begin(), 1);
    }
    if (right.size() == 1) {
      right.push_back(1);
    }
    if (node.integer("transA", 0) != 0) {
      std::swap(left[left.size() - 1], left[left.size() - 2]);
    }
    if (node.integer("transB", 0) != 0) {
      std::swap(right[right.size() - 1], right[right.size() - 2]);
    }
    const std::int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
    const auto batches =
        broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
    if (k != right[right.size() - 2] || !batches) {
      return leave_unknown(node, {a.dims, {}, {}, a.type, false, false, ""},
                           {b.dims, {}, {}, b.type, false, false, ""});
    }
    std::int64_t batch = 1;
    for (const std::int64_t extent : *batches) {
      batch = extent_product({batch, extent});
    }
    const std::string dtype = type_of(node, a, b);
    if (a.constant && !b.constant) {
      add(node, {m, n, k}, batch, true, dtype, matrix_of(a, node.integer("transA", 0) != 0, m, k));
    } else if (right.size() == 2) {  // one weight for all batches
      add(node, {n, extent_product({m, batch}), k}, 1, b.constant, dtype,
          matrix_of(b, node.integer("transB", 0) == 0, n, k));
    } else {
      add(node, {n, m, k}, batch, b.constant, dtype);
    }
    OnnxValue output{*batches, std::nullopt, {}, a.type, false, false, ""};
    output.dims->push_back(m);
    output.dims->push_back(n);
    return output;
  }

  /// MatMulNBits: weights of few bits are unpacked to the type of the input.
  OnnxValue packed_product(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
    if (inputs.empty() || !inputs[0].dims || inputs[0].dims->empty()) {
      return leave_unknown(node, inputs.empty() ? OnnxValue{} : inputs[0], {});
    }
    OnnxDims dims = *inputs[0].dims;
    dims.back() = node.integer("N", 0);
    std::int64_t tokens = 1;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
      tokens = extent_product({tokens, dims[i]});
    }
    add(node, {dims.back(), tokens, node.integer("K", 0)}, 1, true,
        type_of(node, inputs[0], inputs[0]));
    return {dims, std::nullopt, {}, inputs[0].type, false, false, ""};
  }

  OnnxValue convolution(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
    const OnnxValue none;
    const std::size_t place = node.op == "QLinearConv" ? 3 : 1;
    const OnnxValue& x = inputs.empty() ? none : inputs[0];
    const OnnxValue& w = inputs.size() > place ? inputs[place] : none;
    const bool known = x.dims && w.dims && x.dims->size() >= 3 && w.dims->size() == x.dims->size();
    const auto window =
        known ? window_of(node, *x.dims, {w.dims->begin() + 2, w.dims->end()}) : std::nullopt;
    const std::int64_t groups = node.integer("group", 1);
    if (!window || groups < 1 || (*x.dims)[1] % groups != 0 || (*w.dims)[0] % groups != 0 ||
        (*w.dims)[1] != (*x.dims)[1] / groups) {
      return leave_unknown(node, x, w);
    }
    OnnxDims output{(*x.dims)[0], (*w.dims)[0]};
    std::int64_t pixels = (*x.dims)[0];
    std::int64_t depth = (*w.dims)[1];
    for (std::size_t i = 0; i < window->output.size(); ++i) {
      output.push_back(window->output[i]);
      pixels = extent_product({pixels, window->output[i]});
      depth = extent_product({depth, window->kernel[i]});
    }
    RecordedLaunch launch;
    launch.op.name = name_of(node);
    launch.op.shape = {(*w.dims)[0] / groups, pixels, depth};
    launch.op.batch = groups;
    launch.weight = w.constant;
    launch.dtype = type_of(node, x, w);
    if (w.origin && !w.origin->transposed && w.origin->dims == *w.dims) {
      launch.op.weight = onnx_weight(model_, *w.origin, filter_layout(*w.dims, groups));
    }
    keep_geometry(*x.dims, *window, groups, launch.op);
    list_.add(std::move(launch), file_ + ": " + io::printable(name_of(node)));
    return {output, std::nullopt, {}, x.type, false, false, ""};
  }

  /// Of two axes, padded alike on both sides, the operation keeps the geometry.
  static void keep_geometry(const OnnxDims& x, const OnnxWindow& window, std::int64_t groups,
                            Operation& op) {
    if (x.size() != 4 || window.pads[0] != window.pads[2] || window.pads[1] != window.pads[3]) {
      return;
    }
    ConvGeometry conv;
    conv.n = x[0];
    conv.c = x[1];
    conv.h = x[2];
    conv.w = x[3];
    conv.k = op.shape.m * groups;
    conv.r = window.kernel[0];
    conv.s = window.kernel[1];
    conv.stride = {window.stride[0], window.stride[1]};
    conv.pad = {window.pads[0], window.pads[1]};
    conv.dilation = {window.dilation[0], window.dilation[1]};
    conv.groups = groups;
    Operation lowered;
    if (lower_convolution(conv, lowered) && lowered.shape == op.shape) {
      op.conv = lowered.conv;
    }
  }

  /// Each input pixel times the filters, which then overlap: k is the channels of the input.
  OnnxValue transposed_convolution(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
    const OnnxValue none;
    const OnnxValue& x = inputs.empty() ? none : inputs[0];
    const OnnxValue& w = inputs.size() > 1 ? inputs[1] : none;
    const std::int64_t groups = node.integer("group", 1);
    if (!x.dims || !w.dims || x.dims->size() < 3 || w.dims->size() != x.dims->size() ||
        (*w.dims)[0] != (*x.dims)[1] || groups < 1 || (*x.dims)[1] % groups != 0) {
      return leave_unknown(node, x, w);
    }
    const std::size_t axes = x.dims->size() - 2;
    const OnnxDims stride = node.integers("strides", OnnxDims(axes, 1));
    const OnnxDims dilation = node.integers("dilations", OnnxDims(axes, 1));
    const OnnxDims pads = node.integers("pads", OnnxDims(2 * axes, 0));
    const OnnxDims more = node.integers("output_padding", OnnxDims(axes, 0));
    const OnnxDims stated = node.integers("output_shape", {});
    if (stride.size() != axes || dilation.size() != axes || pads.size() != 2 * axes ||
        more.size() != axes) {
      return leave_unknown(node, x, w);
    }
    OnnxDims output{(*x.dims)[0], extent_product({(*w.dims)[1], groups})};
    std::int64_t filters = (*w.dims)[1], pixels = (*x.dims)[0];
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t extent = (*x.dims)[i + 2], kernel = (*w.dims)[i + 2];
      filters = extent_product({filters, kernel});
      pixels = extent_product({pixels, extent});
      const std::int64_t spread = extent_product({stride[i], extent});
      const std::int64_t reach = extent_product({dilation[i], kernel});
      for (const std::int64_t value : {pads[i], pads[i + axes], more[i]}) {
        if (value < 0 || value > kMaxExtent) {
          return leave_unknown(node, x, w);
        }
      }
      output.push_back(stated.size() == axes ? stated[i]
                                             : spread - stride[i] + more[i] + reach - dilation[i] +
                                                   1 - pads[i] - pads[i + axes]);
    }
    add(node, {filters, pixels, (*x.dims)[1] / groups}, groups, w.constant, type_of(node, x, w));
    return {output, std::nullopt, {}, x.type, false, false, ""};
  }

  const ImportOptions& options_;
  const std::string& file_;
  std::shared_ptr<const std::string> model_;
  OpenDims dims_;
  std::unordered_map<std::string, OnnxValue> values_;
  std::unordered_map<std::string, const OnnxInput*> stated_;
  LaunchList list_;
};

}  // namespace

bool is_onnx(std::string_view head) {
  // ir_version, which is field 1, and then a field that a model begins with.
  constexpr std::string_view kNext = "\x12\x1A\x22\x28\x2A\x32\x3A\x42";
  constexpr char kMostVersions = 32;
  return head.size() > 3 && head[0] == '\x08' && head[1] > 0 && head[1] < kMostVersions &&
         kNext.find(head[2]) != std::string_view::npos;
}

void read_onnx(InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = std::size_t{2} << 30;  // of protobuf
  const auto model = std::make_shared<const std::string>(input.rest(kMaxBytes));
  const OnnxGraph graph = parse_onnx(*model, input.name());
  LaunchList list = Walker(graph, options, input.name(), model).take();
  recording.account.notes.emplace_back(kTf32Note);
  recording.account.notes.emplace_back(
      "A is the operand that the model holds as a weight; of two activations it is the second");
  std::move(list).move_to(recording, input.name());
  for (std::string& note : mark_sparse_weights(recording.workload.operations)) {
    recording.account.notes.push_back(std::move(note));
  }
}

}  // namespace sptc::workload
