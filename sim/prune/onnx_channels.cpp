// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/onnx_channels.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

using workload::onnx::Dims;
using workload::onnx::Node;

constexpr std::array kUnary = std::to_array<std::string_view>(
    {"Relu", "Gelu", "Erf", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Selu", "HardSigmoid",
     "HardSwish", "Softplus", "Softsign", "Mish", "Abs", "Neg", "Exp", "Sqrt", "Identity", "Cast"});
constexpr std::array kBinary =
    std::to_array<std::string_view>({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Clip"});

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Channels {
 public:
  explicit Channels(const workload::onnx::Graph& graph) : graph_(graph) {
    for (const workload::onnx::Tensor& tensor : graph.initializers) {
      constants_[tensor.name] = tensor.dims;
    }
    for (const Node& node : graph.nodes) {
      const auto value = node.attributes.find("value");
      if (node.op == "Constant" && !node.outputs.empty() && value != node.attributes.end() &&
          value->second.tensor) {
        constants_[node.outputs[0]] = value->second.tensor->dims;
      }
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
      if (!consumer_weight(node) || seen_.contains(node.inputs[0])) {
        continue;
      }
      region_.clear();
      group_ = {};
      channels_ = k_of(node);
      const bool closed = spread(node.inputs[0]) && !group_.producers.empty() && used_once();
      seen_.insert(region_.begin(), region_.end());
      if (closed) {
        result.push_back(group_);
      }
    }
    return result;
  }

 private:
  const Dims* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : &found->second;
  }
  static bool is_product(const Node& node) {
    return node.op == "MatMul" || (node.op == "Gemm" && node.integer("transA", 0) == 0);
  }
  /// The dims of the weight where `node` multiplies values by one.
  const Dims* consumer_weight(const Node& node) const {
    if (!is_product(node) || node.inputs.size() < 2 || constant(node.inputs[0]) != nullptr) {
      return nullptr;
    }
    const Dims* const dims = constant(node.inputs[1]);
    return dims != nullptr && dims->size() == 2 ? dims : nullptr;
  }
  static bool is_k_first(const Node& node) {
    return node.op == "MatMul" || node.integer("transB", 0) == 0;
  }
  std::int64_t k_of(const Node& node) const {
    return (*consumer_weight(node))[is_k_first(node) ? 0 : 1];
  }
  std::int64_t rows_of(const Node& node) const {
    return (*consumer_weight(node))[is_k_first(node) ? 1 : 0];
  }

  /// Adds `value`, whose last axis has the channels, with all that makes and uses it. False where
  /// something would see another order.
  bool spread(const std::string& value) {
    if (!region_.insert(value).second) {
      return true;
    }
    const auto maker = makers_.find(value);
    if (outputs_.contains(value) || maker == makers_.end() || !made_by(*maker->second)) {
      return false;
    }
    const std::vector<const Node*>& users = users_[value];
    return std::all_of(users.begin(), users.end(),
                       [&](const Node* user) { return used_by(*user, value); });
  }

  bool made_by(const Node& node) {
    if (consumer_weight(node) != nullptr) {
      group_.producers.push_back(node.inputs[1]);
      return rows_of(node) == channels_ && (node.inputs.size() < 3 || add_vector(node.inputs[2]));
    }
    return passes(node);
  }

  bool used_by(const Node& node, const std::string& value) {
    if (consumer_weight(node) != nullptr && node.inputs[0] == value &&
        std::count(node.inputs.begin(), node.inputs.end(), value) == 1) {
      group_.consumers.push_back(node.inputs[1]);
      return k_of(node) == channels_;
    }
    return passes(node);
  }

  /// A node that works on single elements: all of its values belong to the group.
  bool passes(const Node& node) {
    const bool unary = has(kUnary, node.op);
    if ((!unary && !has(kBinary, node.op)) || node.outputs.size() != 1 || node.inputs.empty()) {
      return false;
    }
    const bool inputs =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
          return input.empty() || (constant(input) != nullptr ? add_vector(input) : spread(input));
        });
    return inputs && spread(node.outputs[0]);
  }

  /// A constant beside the channels: one number, or one for each channel.
  bool add_vector(const std::string& name) {
    const Dims* const dims = constant(name);
    if (dims == nullptr) {
      return name.empty();
    }
    const std::int64_t elements =
        std::accumulate(dims->begin(), dims->end(), std::int64_t{1}, std::multiplies<>());
    if (elements == 1) {
      return true;
    }
    if (elements != channels_ || dims->back() != channels_) {
      return false;
    }
    if (std::find(group_.producers.begin(), group_.producers.end(), name) ==
        group_.producers.end()) {
      group_.producers.push_back(name);
    }
    return true;
  }

  bool used_once() const {
    const auto once = [&](const std::string& name) {
      const auto users = users_.find(name);
      return users != users_.end() && users->second.size() == 1 && !outputs_.contains(name);
    };
    return std::all_of(group_.producers.begin(), group_.producers.end(), once) &&
           std::all_of(group_.consumers.begin(), group_.consumers.end(), once);
  }

  const workload::onnx::Graph& graph_;
  std::map<std::string, Dims> constants_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> users_;
  std::set<std::string> outputs_, seen_, region_;
  ChannelGroup group_;
  std::int64_t channels_ = 0;
};

}  // namespace

std::vector<ChannelGroup> onnx_channel_groups(const workload::onnx::Graph& graph) {
  return Channels(graph).groups();
}

}  // namespace sptc::prune
