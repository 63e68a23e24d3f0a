// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/onnx_layers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

namespace sptc::prune {
namespace {

using workload::onnx::Dims;
using workload::onnx::Node;

constexpr std::array kUnary = std::to_array<std::string_view>(
    {"Relu", "Gelu", "Erf", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Selu", "HardSigmoid", "HardSwish", "Softplus",
     "Softsign", "Mish", "Abs", "Neg", "Exp", "Sqrt", "Identity", "Cast"});
constexpr std::array kBinary =
    std::to_array<std::string_view>({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Clip", "PRelu"});
constexpr std::array kGlobalPool = std::to_array<std::string_view>({"GlobalAveragePool", "GlobalMaxPool"});
constexpr std::array kPool = std::to_array<std::string_view>({"AveragePool", "MaxPool"});

/// Whether the element-wise operation has its operands and its one result in one order.
bool is_elementwise(const Node& node) {
  return (std::ranges::count(kUnary, node.op) > 0 || std::ranges::count(kBinary, node.op) > 0) &&
         node.outputs.size() == 1 && !node.inputs.empty();
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::count(names, name) == 0) {
    names.push_back(name);
  }
}

class OnnxChannels {
 public:
  explicit OnnxChannels(const workload::onnx::Graph& graph) : graph_(graph) {
    for (const auto& [name, tensor] : onnx_constants(graph)) {
      constants_[name] = tensor->dims;
    }
    for (const Node& node : graph.nodes) {
      for (const std::string& output : node.outputs) {
        makers_[output] = &node;
      }
      for (const std::string& input : node.inputs) {
        users_[input].push_back(&node);
      }
    }
    outputs_.insert(graph.outputs.begin(), graph.outputs.end());
  }

  std::vector<ChannelGroup> groups() {
    std::vector<ChannelGroup> result;
    for (const Node& node : graph_.nodes) {
      const std::optional<Weight> weight = weight_of(node);
      if (!weight || seen_.contains(node.inputs[0])) {
        continue;
      }
      region_.clear();
      group_ = {};
      channels_ = weight->k;
      const bool closed = spread(node.inputs[0], weight->inner_axes) && !group_.producers.empty() && used_once();
      for (const auto& [value, inner_axes] : region_) {
        seen_.insert(value);
      }
      if (closed) {
        result.push_back(group_);
      }
    }
    return result;
  }

 private:
  /// The weight of a MatMul, a Gemm or a convolution of one group, by which it multiplies values.
  struct Weight {
    std::int64_t rows = 0, k = 0;
    std::size_t inner_axes = 0;  ///< of the values, behind the channels
  };

  const Dims* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : &found->second;
  }

  /// The dims of the constant that `node` multiplies or convolves values by.
  const Dims* second_factor(const Node& node) const {
    return node.inputs.size() < 2 || constant(node.inputs[0]) != nullptr ? nullptr : constant(node.inputs[1]);
  }

  std::optional<Weight> weight_of(const Node& node) const {
    const Dims* const dims = second_factor(node);
    if (dims == nullptr) {
      return std::nullopt;
    }
    if (node.op == "Conv" && dims->size() > 2 && node.integer("group", 1) == 1) {
      return Weight{(*dims)[0], (*dims)[1], dims->size() - 2};
    }
    if (dims->size() == 2 && node.op == "MatMul") {
      return Weight{(*dims)[1], (*dims)[0], 0};
    }
    if (dims->size() == 2 && node.op == "Gemm" && node.integer("transA", 0) == 0) {
      const bool k_first = node.integer("transB", 0) == 0;
      return Weight{(*dims)[k_first ? 1 : 0], (*dims)[k_first ? 0 : 1], 0};
    }
    return std::nullopt;
  }

  /// Adds `value`, which has the channels before its last `inner_axes` axes, with all that makes and uses it. False
  /// where something would see another order.
  bool spread(const std::string& value, std::size_t inner_axes) {
    const auto [known, is_new] = region_.emplace(value, inner_axes);
    if (!is_new) {
      return known->second == inner_axes;
    }
    const auto maker = makers_.find(value);
    if (outputs_.contains(value) || maker == makers_.end() || !made_by(*maker->second, inner_axes)) {
      return false;
    }
    const std::vector<const Node*>& users = users_[value];
    return std::ranges::all_of(users, [&](const Node* user) { return used_by(*user, value, inner_axes); });
  }

  bool made_by(const Node& node, std::size_t inner_axes) {
    if (const std::optional<Weight> weight = weight_of(node)) {
      add_once(group_.producers, node.inputs[1]);
      return weight->rows == channels_ && weight->inner_axes == inner_axes && add_bias(node);
    }
    if (is_flattened_pool(node)) {  // of images, unless a convolution in the region says otherwise
      return inner_axes == 0 && spread(node.inputs[0], 2);
    }
    return passes(node, inner_axes);
  }

  bool used_by(const Node& node, const std::string& value, std::size_t inner_axes) {
    const std::optional<Weight> weight = weight_of(node);
    if (weight && node.inputs[0] == value && std::ranges::count(node.inputs, value) == 1) {
      group_.consumers.push_back(node.inputs[1]);
      return weight->k == channels_ && weight->inner_axes == inner_axes;
    }
    if (is_flattened_pool(node)) {
      return inner_axes == 2 && spread(node.outputs[0], 0);
    }
    return passes(node, inner_axes);
  }

  /// A node whose values all have the channels in one place.
  bool passes(const Node& node, std::size_t inner_axes) {
    if (node.outputs.size() != 1 || node.inputs.empty()) {
      return false;
    }
    if (is_elementwise(node)) {
      return std::ranges::all_of(node.inputs,
                                 [&](const std::string& input) {
                                   return input.empty() || (constant(input) != nullptr ? add_vector(input, inner_axes)
                                                                                       : spread(input, inner_axes));
                                 }) &&
             spread(node.outputs[0], inner_axes);
    }
    if (inner_axes == 0) {  // the number of axes before the channels is open
      return false;
    }
    const bool keeps_channels =
        std::ranges::count(kPool, node.op) > 0 || std::ranges::count(kGlobalPool, node.op) > 0 ||
        (node.op == "BatchNormalization" && add_normalization(node)) || (is_depthwise(node) && add_depthwise(node));
    return keeps_channels && spread(node.inputs[0], inner_axes) && spread(node.outputs[0], inner_axes);
  }

  /// A Flatten of what a pool over whole images makes, so that its columns are channels.
  bool is_flattened_pool(const Node& node) const {
    if (node.op != "Flatten" || node.integer("axis", 1) != 1 || node.inputs.size() != 1) {
      return false;
    }
    const auto maker = makers_.find(node.inputs[0]);
    return maker != makers_.end() && std::ranges::count(kGlobalPool, maker->second->op) > 0;
  }

  bool is_depthwise(const Node& node) const {
    const Dims* const dims = second_factor(node);
    return node.op == "Conv" && dims != nullptr && dims->size() > 2 && (*dims)[0] == channels_ && (*dims)[1] == 1 &&
           node.integer("group", 1) == channels_;
  }

  bool add_depthwise(const Node& node) {
    add_once(group_.producers, node.inputs[1]);
    return add_bias(node);
  }

  /// The bias of a product or a convolution.
  bool add_bias(const Node& node) { return node.inputs.size() < 3 || add_vector(node.inputs[2], 0); }

  /// Scale, bias, mean and variance.
  bool add_normalization(const Node& node) {
    return node.inputs.size() == 5 && std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                                  [&](const std::string& input) { return add_vector(input, 0); });
  }

  /// A constant beside the channels: one number, or one for each channel.
  bool add_vector(const std::string& name, std::size_t inner_axes) {
    const Dims* const dims = constant(name);
    if (dims == nullptr) {
      return name.empty();
    }
    const std::int64_t elements = std::accumulate(dims->begin(), dims->end(), std::int64_t{1}, std::multiplies<>());
    if (elements == 1) {
      return true;
    }
    if (elements != channels_ || dims->size() <= inner_axes || (*dims)[dims->size() - 1 - inner_axes] != channels_) {
      return false;
    }
    add_once(group_.producers, name);
    return true;
  }

  bool used_once() const {
    const auto once = [&](const std::string& name) {
      const auto users = users_.find(name);
      return users != users_.end() && users->second.size() == 1 && !outputs_.contains(name);
    };
    return std::ranges::all_of(group_.producers, once) && std::ranges::all_of(group_.consumers, once);
  }

  const workload::onnx::Graph& graph_;
  std::map<std::string, Dims> constants_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> users_;
  std::set<std::string> outputs_, seen_;
  std::map<std::string, std::size_t> region_;  ///< values, and their axes behind the channels
  ChannelGroup group_;
  std::int64_t channels_ = 0;
};

}  // namespace

std::vector<ChannelGroup> onnx_channel_groups(const workload::onnx::Graph& graph) {
  return OnnxChannels(graph).groups();
}

}  // namespace sptc::prune
