// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/channel_permutation.h"

#include "models/base/error.h"
#include "models/sparsity/permutation.h"
#include "sim/io/text_file.h"
#include "sim/prune/onnx_layers.h"

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
        const ChannelGroup group = group_of_rule(rule);
        require_pruned(group);
        apply(group);
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
    const auto stands = [&](const std::string& name) { return model_.place_of(name).has_value(); };
    const bool all = std::all_of(group.producers.begin(), group.producers.end(), stands) &&
                     std::all_of(group.consumers.begin(), group.consumers.end(), stands);
    return all && std::any_of(group.consumers.begin(), group.consumers.end(),
                              [&](const auto& name) { return pruned(name) != nullptr; });
  }

  /// The layer called `name` if it is pruned.
  const ChosenLayer* pruned(const std::string& name) const {
    const auto layer = layers_.find(model_.find(name));
    return layer != layers_.end() && layer->second.skipped.empty() ? &layer->second : nullptr;
  }

  void require_pruned(const ChannelGroup& group) const {
    for (const std::string& name : group.consumers) {
      if (pruned(name) == nullptr) {
        throw base::InputError(
            fmt::format("--permute: '{}' is no layer that is pruned", io::printable(name)));
      }
    }
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

  /// The weights of all consumers that are pruned, one above the other.
  base::Matrix<float> stacked(const ChannelGroup& group) const {
    std::vector<base::Matrix<float>> parts;
    std::size_t rows = 0;
    for (const std::string& name : group.consumers) {
      const ChosenLayer* const layer = pruned(name);
      if (layer == nullptr) {
        continue;
      }
      parts.push_back(load_weights(read_tensor(model_, layer->tensor), layer->type, layer->layout));
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
      const std::size_t tensor = model_.find(name);
      if (pruned(name) != nullptr) {
        result_.reports_[tensor] = {group.consumers[0], gains, found.kept_before, found.kept_after};
      }
      if (gains) {
        add(tensor, axis_of_k(tensor), true, found.order);
      }
    }
    for (const std::string& name : group.producers) {
      const std::size_t tensor = model_.find(name);
      const std::size_t axis = axis_of_rows(tensor, found.order.size());
      const std::vector<std::int64_t>& shape = model_.tensors()[tensor].entry.shape;
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

  /// The axis of a producer that has its channels. Beside that of a vector there are axes of extent
  /// 1 only.
  std::size_t axis_of_rows(std::size_t tensor, std::size_t channels) const {
    const std::vector<std::int64_t>& shape = model_.tensors()[tensor].entry.shape;
    const auto ones = static_cast<std::size_t>(std::count(shape.begin(), shape.end(), 1));
    if (ones + 1 == shape.size()) {
      const auto found = std::find(shape.begin(), shape.end(), static_cast<std::int64_t>(channels));
      return found == shape.end() ? 0 : static_cast<std::size_t>(found - shape.begin());
    }
    return is_k_first(tensor) ? shape.size() - 1 : 0;
  }

  std::size_t axis_of_k(std::size_t tensor) const {
    const auto layer = layers_.find(tensor);
    return layer != layers_.end() ? layer->second.layout.k_axis : is_k_first(tensor) ? 0 : 1;
  }

  /// Whether a weight is [k, rows]: the graph knows it also of those that are not chosen.
  bool is_k_first(std::size_t tensor) const {
    const auto layer = layers_.find(tensor);
    if (layer != layers_.end() || model_.onnx_graph() == nullptr) {
      return layer != layers_.end() && layer->second.layout.k_first;
    }
    const std::string& name = model_.tensors()[tensor].entry.name;
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
