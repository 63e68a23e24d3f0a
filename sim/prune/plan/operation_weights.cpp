// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/onnx_layers.h"
#include "sim/prune/plan/planned_layers.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace sptc::prune::plan {
namespace {

/// How Hugging Face calls the tensors of an operation: what follows the number of the layer, '*' the number of an
/// expert.
struct Role {
  std::string_view operation;
  std::string_view tensors;  ///< with blanks between them
  bool in_part = false;      ///< the operation reads some rows: those of experts that have tokens
};

/// No row has attn.q_absorb: it reads kv_b_proj along its rows, where 2:4 does not prune.
constexpr Role kRoles[] = {
    {"attn.qkv",
     "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.qkv_proj attention.self.query attention.self.key "
     "attention.self.value attention.attention.query attention.attention.key attention.attention.value"},
    {"attn.qkv_a", "self_attn.q_proj self_attn.q_a_proj self_attn.kv_a_proj_with_mqa self_attn.fused_qkv_a_proj"},
    {"attn.q_b", "self_attn.q_b_proj"},
    {"attn.kv_b", "self_attn.kv_b_proj"},
    {"attn.v_up", "self_attn.kv_b_proj", true},
    {"attn.o", "self_attn.o_proj self_attn.out_proj"},
    {"mlp.gate_up", "mlp.gate_proj mlp.up_proj mlp.gate_up_proj feed_forward.gate_proj feed_forward.up_proj"},
    {"mlp.down", "mlp.down_proj feed_forward.down_proj"},
    {"mlp.fc1", "fc1 mlp.fc1"},
    {"mlp.fc2", "fc2 mlp.fc2"},
    {"moe.router", "mlp.gate mlp.router block_sparse_moe.gate feed_forward.router"},
    {"moe.expert.gate_up",
     "mlp.experts.*.gate_proj mlp.experts.*.up_proj mlp.experts.gate_up_proj block_sparse_moe.experts.*.w1 "
     "block_sparse_moe.experts.*.w3 block_sparse_moe.input_linear feed_forward.experts.gate_up_proj",
     true},
    {"moe.expert.down",
     "mlp.experts.*.down_proj mlp.experts.down_proj block_sparse_moe.experts.*.w2 block_sparse_moe.output_linear "
     "feed_forward.experts.down_proj",
     true},
    {"moe.shared.gate_up",
     "mlp.shared_experts.gate_proj mlp.shared_experts.up_proj mlp.shared_expert.gate_proj mlp.shared_expert.up_proj "
     "feed_forward.shared_expert.gate_proj feed_forward.shared_expert.up_proj"},
    {"moe.shared.down",
     "mlp.shared_experts.down_proj mlp.shared_expert.down_proj feed_forward.shared_expert.down_proj"},
    {"ssm.in_proj", "mixer.in_proj mamba.in_proj"},
    {"ssm.out_proj", "mixer.out_proj mamba.out_proj"},
    {"attn.output", "attention.output.dense"},
    {"ffn.intermediate", "intermediate.dense"},
    {"ffn.output", "output.dense"},
};

/// "model.layers.3." of "model.layers.3.mlp.down_proj": up to the last number between two dots.
std::optional<std::size_t> end_of_number(std::string_view name) {
  for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0; dot = name.rfind('.', dot - 1)) {
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

/// A name cut behind the number of its layer; that of an expert is '*'.
struct NameInLayer {
  std::string layer, module;
};

std::optional<NameInLayer> name_in_layer(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const std::optional<std::size_t> end = end_of_number(name);
  if (!end) {
    return std::nullopt;
  }
  const std::string_view before = name.substr(0, *end);
  const std::size_t experts = before.rfind(kExperts);
  if (experts != std::string_view::npos) {
    const std::size_t number = experts + kExperts.size();
    const std::optional<std::size_t> layer = end_of_number(before.substr(0, experts));
    if (layer && before.find('.', number) == before.size() - 1) {
      return NameInLayer{std::string(name.substr(0, *layer)),
                         std::string(name.substr(*layer, number - *layer)) + "*." + std::string(name.substr(*end))};
    }
  }
  return NameInLayer{std::string(before), std::string(name.substr(*end))};
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
        if (std::ranges::count(tensors, layer.initializer) == 0) {
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
    const bool in_part =
        std::ranges::any_of(kRoles, [&](const Role& one) { return one.in_part && one.operation == op.name; });
    std::size_t launch = 0;
    for (const auto& [place, tensors] : role->second) {
      result.push_back({at, tensors, fmt::format("{}[{}]", op.name, launch++), 1, in_part});
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
    const std::optional<NameInLayer> place = name_in_layer(workload::layer_of(name));
    for (const Role& role : kRoles) {
      if (place && std::ranges::count(workload::parts_of(role.tensors, ' '), place->module) > 0) {
        by_role_[std::string(role.operation)][place->layer].push_back(name);
      }
    }
  }

  std::map<std::string, std::vector<std::string>> by_name_;
  /// Weights by operation and by what stands before the name of the part.
  std::map<std::string, std::map<std::string, std::vector<std::string>, InOrder>> by_role_;
};

}  // namespace

std::vector<WeightsOfOperation> weights_of_operations(const prune::ModelFile& model,
                                                      const std::vector<workload::Operation>& operations) {
  const Matcher matcher(model);
  std::vector<WeightsOfOperation> result;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].weight) {
      matcher.add(operations, i, result);
    }
  }
  return result;
}

}  // namespace sptc::prune::plan
