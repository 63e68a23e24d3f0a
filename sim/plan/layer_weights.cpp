// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/layer_weights.h"

#include "sim/prune/onnx_layers.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>

namespace sptc::plan {
namespace {

/// How Hugging Face calls the tensors of an operation: what follows the number of the layer.
struct Role {
  std::string_view operation;
  std::string_view tensor;
};

constexpr Role kRoles[] = {
    {"attn.qkv", "self_attn.q_proj"},
    {"attn.qkv", "self_attn.k_proj"},
    {"attn.qkv", "self_attn.v_proj"},
    {"attn.qkv", "self_attn.qkv_proj"},
    {"attn.o", "self_attn.o_proj"},
    {"mlp.gate_up", "mlp.gate_proj"},
    {"mlp.gate_up", "mlp.up_proj"},
    {"mlp.gate_up", "mlp.gate_up_proj"},
    {"mlp.down", "mlp.down_proj"},
    {"attn.qkv", "attention.self.query"},
    {"attn.qkv", "attention.self.key"},
    {"attn.qkv", "attention.self.value"},
    {"attn.qkv", "attention.attention.query"},
    {"attn.qkv", "attention.attention.key"},
    {"attn.qkv", "attention.attention.value"},
    {"attn.output", "attention.output.dense"},
    {"ffn.intermediate", "intermediate.dense"},
    {"ffn.output", "output.dense"},
};

/// "model.layers.3." of "model.layers.3.mlp.down_proj": up to the last number between two dots.
std::optional<std::size_t> end_of_number(std::string_view name) {
  for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    std::size_t begin = dot;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) {
      --begin;
    }
    if (begin < dot && begin > 0 && name[begin - 1] == '.') {
      return dot + 1;
    }
  }
  return std::nullopt;
}

class Matcher {
 public:
  explicit Matcher(const prune::ModelFile& model) {
    for (const prune::ModelTensor& tensor : model.tensors()) {
      const std::string& name = tensor.entry.name;
      by_name_[name].push_back(name);
      if (const std::string_view layer = workload::layer_of(name); layer != name) {
        by_name_[std::string(layer)].push_back(name);
      }
      if (tensor.entry.shape.size() > 1) {
        add_role(name);
      }
    }
    if (model.onnx_graph() == nullptr) {
      return;
    }
    by_name_.clear();
    for (const prune::OnnxLayer& layer : prune::onnx_layers(*model.onnx_graph())) {
      for (const std::string& node : layer.nodes) {
        std::vector<std::string>& tensors = by_name_[node];
        if (std::find(tensors.begin(), tensors.end(), layer.initializer) == tensors.end()) {
          tensors.push_back(layer.initializer);
        }
      }
    }
  }

  void add(const std::vector<workload::Operation>& operations, std::size_t at,
           std::vector<WeightsOfOperation>& result) const {
    const workload::Operation& op = operations[at];
    const std::string& name = op.tensors ? op.tensors->weight : op.name;
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      result.push_back({at, found->second, op.name, static_cast<double>(op.count)});
      return;
    }
    const auto role = by_role_.find(op.name);
    if (role == by_role_.end() || static_cast<std::int64_t>(role->second.size()) != op.count) {
      return;
    }
    std::size_t launch = 0;
    for (const auto& [place, tensors] : role->second) {
      result.push_back({at, tensors, fmt::format("{}[{}]", op.name, launch++), 1});
    }
  }

 private:
  /// Layers in the order of the numbers in their names.
  struct InOrder {
    bool operator()(const std::string& one, const std::string& other) const {
      return one.size() != other.size() ? one.size() < other.size() : one < other;
    }
  };

  void add_role(const std::string& name) {
    const std::string_view whole = workload::layer_of(name);
    const std::optional<std::size_t> end = end_of_number(whole);
    if (!end) {
      return;
    }
    for (const Role& role : kRoles) {
      if (whole.substr(*end) == role.tensor) {
        by_role_[std::string(role.operation)][std::string(whole.substr(0, *end))].push_back(name);
      }
    }
  }

  std::map<std::string, std::vector<std::string>> by_name_;
  /// By operation and by what stands before the name of the part.
  std::map<std::string, std::map<std::string, std::vector<std::string>, InOrder>> by_role_;
};

}  // namespace

std::vector<WeightsOfOperation> weights_of_operations(
    const prune::ModelFile& model, const std::vector<workload::Operation>& operations) {
  const Matcher matcher(model);
  std::vector<WeightsOfOperation> result;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].weight) {
      matcher.add(operations, i, result);
    }
  }
  return result;
}

}  // namespace sptc::plan
