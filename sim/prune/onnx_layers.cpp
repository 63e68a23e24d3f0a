// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/onnx_layers.h"

#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sptc::prune {
namespace {

using workload::onnx::constant_of;
using workload::onnx::Dims;
using workload::onnx::integers_of;
using workload::onnx::is_real;
using workload::onnx::Node;
using workload::onnx::Tensor;

constexpr std::size_t kNoAxis = workload::onnx::kMaxRank;  // of extent 1, and not of the initializer

/// An initializer as a value further on has it.
struct Source {
  std::string initializer;
  Dims dims;                      ///< of the value
  std::vector<std::size_t> axes;  ///< of the initializer, for each of the value
  std::string obstacle;
};

bool passes_values(const Node& node) {
  return node.op == "QuantizeLinear" || node.op == "DequantizeLinear" || node.op == "Cast" || node.op == "Identity";
}

bool changes_shape(const Node& node) {
  return node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze" || node.op == "Flatten";
}

class Layers {
 public:
  explicit Layers(const workload::onnx::Graph& graph) {
    for (const auto& [name, tensor] : onnx_constants(graph)) {
      add_source(name, *tensor);
    }
    for (const Node& node : graph.nodes) {
      visit(node);
    }
  }

  std::vector<OnnxLayer> result() && { return std::move(layers_); }

 private:
  void add_source(const std::string& name, const Tensor& tensor) {
    Source source{name, tensor.dims, {}, ""};
    for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
      source.axes.push_back(axis);
    }
    sources_[name] = std::move(source);
    tensors_[name] = &tensor;
  }

  const Source* source(const Node& node, std::size_t input) const {
    const auto found = input < node.inputs.size() ? sources_.find(node.inputs[input]) : sources_.end();
    return found == sources_.end() ? nullptr : &found->second;
  }

  void visit(const Node& node) {
    if (node.op == "MatMul" || node.op == "FusedMatMul") {
      add(node, source(node, 1), 2, node.integer("transB", 0) != 0 ? 0 : 1);
      add(node, source(node, 0), 2, node.integer("transA", 0) != 0 ? 1 : 0);
    } else if (node.op == "Gemm") {
      add(node, source(node, 1), 2, node.integer("transB", 0) != 0 ? 0 : 1);
    } else if (node.op == "Conv") {
      const Source* const filters = source(node, 1);
      add(node, filters, filters != nullptr ? std::max<std::size_t>(filters->axes.size(), 3) : 0, 0);
    } else if (node.op == "MatMulNBits" && source(node, 1) != nullptr) {
      const Source packed{source(node, 1)->initializer,
                          {node.integer("N", 0), node.integer("K", 0)},
                          {0, 1},
                          "weights that MatMulNBits unpacks are not pruned here"};
      add(node, &packed, 2, 0);
    } else if (node.outputs.size() == 1) {
      pass_on(node);
    }
  }

  void pass_on(const Node& node) {
    if (source(node, 0) == nullptr) {
      return;
    }
    Source from = *source(node, 0);
    if (node.op == "Transpose") {
      transpose(node, from);
    } else if (changes_shape(node)) {
      reshape(node, from);
    } else if (!passes_values(node)) {
      return;
    }
    // A node that quantises real values makes 0 of 0.
    if (node.op == "DequantizeLinear" && !is_real(tensors_.at(from.initializer)->type) && !has_zero_of_zero(node)) {
      from.obstacle = "its zero point is not 0, so that zeros would be other values";
    }
    sources_[node.outputs[0]] = std::move(from);
  }

  static void transpose(const Node& node, Source& from) {
    Dims reversed;
    for (std::size_t axis = from.axes.size(); axis-- > 0;) {
      reversed.push_back(static_cast<std::int64_t>(axis));
    }
    const Dims order = node.integers("perm", reversed);
    const Source before = from;
    for (std::size_t i = 0; i < from.axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(i < order.size() ? order[i] : -1);
      if (axis >= before.axes.size()) {
        from.obstacle = "the Transpose before it is of other axes";
        return;
      }
      from.axes[i] = before.axes[axis];
      from.dims[i] = before.dims[axis];
    }
  }

  /// Axes of extent 1 come and go.
  void reshape(const Node& node, Source& from) const {
    const auto shape = node.inputs.size() > 1 ? tensors_.find(node.inputs[1]) : tensors_.end();
    const std::optional<Dims> stated =
        shape == tensors_.end() ? std::nullopt : integers_of(constant_of(*shape->second));
    std::vector<std::size_t> kept;
    Dims extents;
    for (std::size_t i = 0; i < from.dims.size(); ++i) {
      if (from.dims[i] != 1) {
        kept.push_back(from.axes[i]);
        extents.push_back(from.dims[i]);
      }
    }
    Dims wanted = stated && node.op == "Reshape" ? *stated : extents;
    std::size_t next = 0;
    from.axes.clear();
    for (std::int64_t& extent : wanted) {
      const bool is_next = next < extents.size() && (extent == extents[next] || extent < 1);
      from.axes.push_back(is_next ? kept[next] : kNoAxis);
      extent = is_next ? extents[next] : extent;
      next += is_next ? 1 : 0;
      from.obstacle = is_next || extent == 1 ? from.obstacle : "a Reshape before it joins its axes";
    }
    from.dims = wanted;
    if (next < extents.size() || (!stated && node.op == "Reshape")) {
      from.obstacle = "a Reshape before it joins its axes";
    }
  }

  /// Whether a zero that is stored is 0.
  bool has_zero_of_zero(const Node& node) const {
    if (node.inputs.size() < 3 || node.inputs[2].empty()) {
      return true;
    }
    const auto zero = tensors_.find(node.inputs[2]);
    if (zero == tensors_.end() || zero->second->external) {
      return false;
    }
    const Tensor& tensor = *zero->second;
    return std::ranges::all_of(tensor.raw, [](char byte) { return byte == 0; }) &&
           (!tensor.numbers ||
            std::all_of(tensor.numbers->begin(), tensor.numbers->end(), [](double value) { return value == 0; }));
  }

  /// `rows`: the axis of rows among the first two; k is the other.
  void add(const Node& node, const Source* weight, std::size_t axes, std::size_t rows) {
    if (weight == nullptr || weight->axes.size() != axes) {
      return;
    }
    OnnxLayer layer{weight->initializer, {weight->axes[rows], weight->axes[1 - rows]},
                    weight->dims[rows],  weight->dims[1 - rows],
                    {node.label()},      weight->obstacle};
    const auto known =
        std::ranges::find_if(layers_, [&](const OnnxLayer& other) { return other.initializer == layer.initializer; });
    if (known == layers_.end()) {
      layers_.push_back(std::move(layer));
      return;
    }
    known->nodes.push_back(node.label());
    if (known->axes.k != layer.axes.k || known->axes.rows != layer.axes.rows) {
      known->obstacle = "nodes multiply it along different axes";
    }
  }

  std::map<std::string, Source> sources_;         ///< by the name of the value
  std::map<std::string, const Tensor*> tensors_;  ///< initializers and constants
  std::vector<OnnxLayer> layers_;
};

}  // namespace

std::vector<std::pair<std::string, const Tensor*>> onnx_constants(const workload::onnx::Graph& graph) {
  std::vector<std::pair<std::string, const Tensor*>> constants;
  for (const Tensor& tensor : graph.initializers) {
    constants.emplace_back(tensor.name, &tensor);
  }
  for (const Node& node : graph.nodes) {
    const workload::onnx::Attribute* const value = node.find("value");
    if (node.op == "Constant" && !node.outputs.empty() && value != nullptr && value->tensor) {
      constants.emplace_back(node.outputs[0], &*value->tensor);
    }
  }
  return constants;
}

std::vector<OnnxLayer> onnx_layers(const workload::onnx::Graph& graph) {
  return Layers(graph).result();
}

}  // namespace sptc::prune
