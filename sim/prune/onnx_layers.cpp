// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/onnx_layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sptc::prune {
namespace {

using workload::onnx::Dims;
using workload::onnx::Node;

/// An initializer as a value further on has it.
struct Source {
  std::string initializer;
  std::size_t axes = 0;
  bool is_transposed = false;
};

bool passes_values(const Node& node) {
  return node.op == "DequantizeLinear" || node.op == "Cast" || node.op == "Identity";
}

class Layers {
 public:
  explicit Layers(const workload::onnx::Graph& graph) {
    for (const workload::onnx::Tensor& tensor : graph.initializers) {
      sources_[tensor.name] = {tensor.name, tensor.dims.size(), false};
    }
    for (const Node& node : graph.nodes) {
      const auto value = node.attributes.find("value");
      if (node.op == "Constant" && !node.outputs.empty() && value != node.attributes.end() &&
          value->second.tensor) {
        const std::string& name = node.outputs[0];
        sources_[name] = {name, value->second.tensor->dims.size(), false};
      }
    }
    for (const Node& node : graph.nodes) {
      visit(node);
    }
  }

  std::vector<OnnxLayer> result() const {
    std::vector<OnnxLayer> layers;
    std::copy_if(layers_.begin(), layers_.end(), std::back_inserter(layers),
                 [&](const OnnxLayer& layer) { return !both_ways_.contains(layer.initializer); });
    return layers;
  }

 private:
  std::optional<Source> source(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size()) {
      return std::nullopt;
    }
    const auto found = sources_.find(node.inputs[input]);
    return found == sources_.end() ? std::nullopt : std::optional(found->second);
  }

  void visit(const Node& node) {
    if (node.op == "MatMul") {
      add(node, source(node, 1), 2, true);
      add(node, source(node, 0), 2, false);
    } else if (node.op == "Gemm") {
      add(node, source(node, 1), 2, node.integer("transB", 0) == 0);
    } else if (node.op == "Conv") {
      const auto filters = source(node, 1);
      add(node, filters, filters ? std::max<std::size_t>(filters->axes, 3) : 0, false);
    } else if (node.outputs.size() == 1) {
      pass_on(node);
    }
  }

  void pass_on(const Node& node) {
    std::optional<Source> from = source(node, 0);
    if (!from) {
      return;
    }
    const bool swaps =
        node.op == "Transpose" && from->axes == 2 && node.integers("perm", {1, 0}) == Dims{1, 0};
    if (swaps || passes_values(node)) {
      from->is_transposed ^= swaps;
      sources_[node.outputs[0]] = *from;
    }
  }

  void add(const Node& node, const std::optional<Source>& weight, std::size_t axes, bool k_first) {
    if (!weight || weight->axes != axes) {
      return;
    }
    const OnnxLayer layer{weight->initializer, k_first != weight->is_transposed, {node.label()}};
    const auto known = std::find_if(layers_.begin(), layers_.end(), [&](const OnnxLayer& other) {
      return other.initializer == layer.initializer;
    });
    if (known == layers_.end()) {
      layers_.push_back(layer);
      return;
    }
    known->nodes.push_back(node.label());
    if (known->k_first != layer.k_first) {
      both_ways_.insert(layer.initializer);
    }
  }

  std::map<std::string, Source> sources_;  ///< by the name of the value
  std::vector<OnnxLayer> layers_;
  std::set<std::string> both_ways_;
};

}  // namespace

std::vector<OnnxLayer> onnx_layers(const workload::onnx::Graph& graph) {
  return Layers(graph).result();
}

}  // namespace sptc::prune
