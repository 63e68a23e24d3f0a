// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/channel_permutation.h"

#include "models/base/error.h"
#include "models/sparsity/permutation.h"
#include "sim/io/text_file.h"
#include "sim/prune/onnx_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

ChannelGroup group_of_rule(const std::string& rule) {
  const std::size_t equals = rule.find('=');
  ChannelGroup group;
  if (equals != std::string::npos) {
    group = {names_of(std::string_view(rule).substr(0, equals)),
             names_of(std::string_view(rule).substr(equals + 1))};
  }
  if (group.producers.empty() || group.consumers.empty()) {
    throw base::InputError(fmt::format(
        "--permute '{}': a rule is PRODUCER[,PRODUCER..]=CONSUMER[,CONSUMER..], or report, or auto",
        io::printable(rule)));
  }
  return group;
}

}  // namespace

/// Builds a ChannelPermutation.
class PermutationPlan {
 public:
  PermutationPlan(const ModelFile& model, const std::map<std::size_t, ChosenLayer>& layers,
                  const PruneOptions& options)
      : model_(model), layers_(layers), options_(options) {}

  ChannelPermutation run() {
    for (const std::string& rule : options_.permute) {
      require_two_of_four();
      if (rule == "report") {
        report_all();
      } else if (rule == "auto") {
        if (model_.onnx_graph() == nullptr) {
          throw base::InputError(model_.shown() +
                                 ": --permute auto needs the graph of an ONNX model; rules "
                                 "PRODUCERS=CONSUMERS say what it would");
        }
        for (const ChannelGroup& group : onnx_channel_groups(*model_.onnx_graph())) {
          if (is_pruned(group)) {
            apply(group);
          }
        }
      } else {
        apply(group_of_rule(rule));
      }
    }
    return std::move(result_);
  }

 private:
  void require_two_of_four() const {
    const sparsity::WeightPattern pattern = pattern_of(options_);
    if (pattern.vector_rows > 0 || !(pattern.pattern == sparsity::Pattern{2, 4, 1})) {
      throw base::InputError("--permute looks for orders for 2:4, not for " + pattern.name());
    }
  }

  /// Whether any consumer of `group` is pruned, and all of its tensors can be reached.
  bool is_pruned(const ChannelGroup& group) const {
    const auto stands = [&](const std::string& name) {
      return std::any_of(model_.tensors().begin(), model_.tensors().end(),
                         [&](const ModelTensor& tensor) { return tensor.entry.name == name; });
    };
    const bool all = std::all_of(group.producers.begin(), group.producers.end(), stands) &&
                     std::all_of(group.consumers.begin(), group.consumers.end(), stands);
    return all &&
           std::all_of(group.consumers.begin(), group.consumers.end(), [&](const auto& name) {
             const auto layer = layers_.find(model_.find(name));
             return layer != layers_.end() && layer->second.skipped.empty();
           });
  }

  const ChosenLayer& layer_of(const std::string& name) const {
    const auto found = layers_.find(model_.find(name));
    if (found == layers_.end() || !found->second.skipped.empty()) {
      throw base::InputError(
          fmt::format("--permute: '{}' is no layer that is pruned", io::printable(name)));
    }
    return found->second;
  }

  sparsity::ColumnOrder search(const base::Matrix<float>& weights) const {
    sparsity::PermutationSearch search;
    search.seed = options_.seed;
    return sparsity::permutation_search(weights, search);
  }

  void report_all() {
    for (const auto& [tensor, layer] : layers_) {
      if (layer.skipped.empty()) {
        const io::Tensor whole = read_tensor(model_, tensor);
        const sparsity::ColumnOrder found = search(load_weights(whole, layer.type, layer.layout));
        result_.reports_[tensor] = {whole.name, false, found.kept_before, found.kept_after};
      }
    }
  }

  /// The weights of all consumers, one above the other.
  base::Matrix<float> stacked(const ChannelGroup& group) const {
    std::vector<base::Matrix<float>> parts;
    std::size_t rows = 0;
    for (const std::string& name : group.consumers) {
      const ChosenLayer& layer = layer_of(name);
      parts.push_back(load_weights(read_tensor(model_, layer.tensor), layer.type, layer.layout));
      rows += parts.back().rows();
      if (parts.back().cols() != parts.front().cols()) {
        throw base::InputError(fmt::format(
            "--permute: '{}' has k = {}, and '{}' has k = {}", io::printable(name),
            parts.back().cols(), io::printable(group.consumers[0]), parts.front().cols()));
      }
    }
    base::Matrix<float> all(rows, parts.front().cols());
    float* to = all.data();
    for (const base::Matrix<float>& part : parts) {
      to = std::copy(part.data(), part.data() + part.size(), to);
    }
    return all;
  }

  void add(std::size_t tensor, std::size_t axis, bool is_k, const std::vector<std::size_t>& order) {
    std::vector<ChannelPermutation::Axis>& axes = result_.axes_[tensor];
    for (const ChannelPermutation::Axis& other : axes) {
      if (other.axis == axis) {
        throw base::InputError(fmt::format("--permute: '{}' is permuted twice along one axis",
                                           io::printable(model_.tensors()[tensor].entry.name)));
      }
    }
    axes.push_back({axis, is_k, order});
  }

  void apply(const ChannelGroup& group) {
    const sparsity::ColumnOrder found = search(stacked(group));
    const bool gains = found.kept_after > found.kept_before;
    for (const std::string& name : group.consumers) {
      const ChosenLayer& layer = layer_of(name);
      result_.reports_[layer.tensor] = {group.consumers[0], gains, found.kept_before,
                                        found.kept_after};
      if (gains) {
        add(layer.tensor, layer.layout.k_first ? 0 : 1, true, found.order);
      }
    }
    for (const std::string& name : group.producers) {
      const std::size_t tensor = model_.find(name);
      const std::vector<std::int64_t>& shape = model_.tensors()[tensor].entry.shape;
      const auto layer = layers_.find(tensor);
      const bool is_k_first =
          layer != layers_.end() ? layer->second.layout.k_first : is_graph_k_first(name);
      // A vector of biases or scales may have axes of extent 1 in front.
      const bool is_vector = std::count(shape.begin(), shape.end(), 1) + 1 >=
                             static_cast<std::ptrdiff_t>(shape.size());
      const std::size_t axis = is_vector || is_k_first ? shape.size() - 1 : 0;
      if (shape.empty() || shape[axis] != static_cast<std::int64_t>(found.order.size())) {
        throw base::InputError(fmt::format(
            "--permute: '{}' does not make the {} channels that '{}' takes", io::printable(name),
            found.order.size(), io::printable(group.consumers[0])));
      }
      if (gains) {
        add(tensor, axis, false, found.order);
      }
    }
  }

  /// Of a weight that is not chosen: whether the graph has it as [k, rows].
  bool is_graph_k_first(const std::string& name) const {
    if (model_.onnx_graph() == nullptr) {
      return false;
    }
    for (const workload::onnx::Node& node : model_.onnx_graph()->nodes) {
      if (node.inputs.size() >= 2 && node.inputs[1] == name) {
        return node.op == "MatMul" || (node.op == "Gemm" && node.integer("transB", 0) == 0);
      }
    }
    return false;
  }

  const ModelFile& model_;
  const std::map<std::size_t, ChosenLayer>& layers_;
  const PruneOptions& options_;
  ChannelPermutation result_;
};

io::Tensor ChannelPermutation::read(const ModelFile& model, std::size_t tensor) const {
  io::Tensor result = read_tensor(model, tensor);
  const auto axes = axes_.find(tensor);
  if (axes != axes_.end()) {
    for (const Axis& axis : axes->second) {
      permute_axis(result, axis.axis, axis.order);
    }
  }
  return result;
}

std::span<const std::size_t> ChannelPermutation::order_of_k(std::size_t tensor) const {
  const auto axes = axes_.find(tensor);
  if (axes != axes_.end()) {
    for (const Axis& axis : axes->second) {
      if (axis.is_k) {
        return axis.order;
      }
    }
  }
  return {};
}

std::optional<PermutationReport> ChannelPermutation::report(std::size_t tensor) const {
  const auto found = reports_.find(tensor);
  return found == reports_.end() ? std::nullopt : std::optional(found->second);
}

ChannelPermutation plan_permutation(const ModelFile& model,
                                    const std::map<std::size_t, ChosenLayer>& layers,
                                    const PruneOptions& options) {
  return PermutationPlan(model, layers, options).run();
}

}  // namespace sptc::prune
