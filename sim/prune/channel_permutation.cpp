// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/channel_permutation.h"

#include "models/sparsity/permutation.h"
#include "sim/io/text_file.h"
#include "sim/prune/onnx_layers.h"
#include "sim/prune/transformer_channels.h"
#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

std::vector<std::string> names_of(std::string_view text) {
  const std::vector<std::string_view> parts = workload::parts_of(text, ',');
  return {parts.begin(), parts.back().empty() ? parts.end() - 1 : parts.end()};
}

ChannelGroup group_of_rule(const std::string& rule) {
  const std::size_t equals = rule.find('=');
  ChannelGroup group;
  if (equals != std::string::npos) {
    group = {names_of(std::string_view(rule).substr(0, equals)), names_of(std::string_view(rule).substr(equals + 1))};
  }
  if (group.producers.empty() || group.consumers.empty()) {
    io::refuse("--permute '{}': a rule is PRODUCER[,PRODUCER..]=CONSUMER[,CONSUMER..], or report, or auto",
               io::printable(rule));
  }
  return group;
}

/// The weights of a consumer that is pruned.
struct LoadedWeights {
  const ChannelAxis* axis = nullptr;
  std::size_t rows_of_slice = 0;  ///< all rows where it has no slices
  base::Matrix<float> weights;
};

/// The orders of the parts of a group, empty where none is better.
struct FoundOrders {
  std::vector<std::vector<std::size_t>> orders;
  PermutationReport report;
};

class PermutationPlan {
 public:
  PermutationPlan(const ModelFile& model, const std::map<std::size_t, ChosenLayer>& layers, const PruneOptions& options)
      : model_(model), layers_(layers), options_(options), pattern_(pattern_of(options)) {}

  ChannelPermutation run() {
    for (const std::string& rule : options_.permute) {
      if (pattern_.vector_rows > 0) {
        io::refuse("--permute looks for orders for N:M, not for {}", pattern_.name());
      }
      if (rule == "report") {
        report_all();
      } else if (rule != "auto") {
        const ChannelGroup group = group_of_rule(rule);
        require_pruned(group);
        apply(parts_of(group));
      } else if (model_.onnx_graph() != nullptr) {
        for (const ChannelGroup& group : onnx_channel_groups(*model_.onnx_graph())) {
          if (is_pruned(group)) {
            apply(parts_of(group));
          }
        }
      } else {
        apply_named();
      }
    }
    return std::move(result_);
  }

 private:
  void apply_named() {
    const TransformerChannels found = transformer_channels(model_);
    if (found.groups.empty() && found.notes.empty()) {
      io::refuse(
          "{}: --permute auto needs the graph of an ONNX model, or tensors called as those of transformers in Hugging "
          "Face; rules PRODUCERS=CONSUMERS say what else goes together",
          model_.shown());
    }
    std::set<std::string> reasons;
    for (const ChannelParts& group : found.groups) {
      const ChannelAxis& consumer = group.consumers[0];
      const ChosenLayer* const layer = pruned(consumer.tensor);
      if (layer == nullptr) {
        continue;
      }
      const std::string reason = why_unpermuted(group, *layer);
      if (reason.empty()) {
        apply(group);
      } else if (reasons.insert(reason).second) {
        result_.notes.push_back(fmt::format("channels of '{}', and perhaps of others, stay in their order: {}",
                                            io::printable(layer->name), reason));
      }
    }
    result_.notes.insert(result_.notes.end(), found.notes.begin(), found.notes.end());
  }

  /// Why the channels of a group of a transformer, which `layer` reads, stay; empty: they need not.
  std::string why_unpermuted(const ChannelParts& group, const ChosenLayer& layer) const {
    const ChannelAxis& axis = group.consumers[0];
    if (layer.layout.k_axis != axis.axis || layer.layout.stacked != axis.sliced) {
      return "its k is another axis than by its name";
    }
    const auto of_group = static_cast<std::size_t>(pattern_.pattern.group);
    return group.channels % of_group == 0 ? ""
                                          : fmt::format("{} of a part are no multiple of {}", group.channels, of_group);
  }

  /// Whether any consumer of `group` is pruned, and all of its tensors can be reached.
  bool is_pruned(const ChannelGroup& group) const {
    const auto stands = [&](const std::string& name) { return model_.place_of(name).has_value(); };
    const bool all = std::ranges::all_of(group.producers, stands) && std::ranges::all_of(group.consumers, stands);
    return all &&
           std::ranges::any_of(group.consumers, [&](const auto& name) { return pruned(model_.find(name)) != nullptr; });
  }

  /// The layer of `tensor` if it is pruned.
  const ChosenLayer* pruned(std::size_t tensor) const {
    const auto layer = layers_.find(tensor);
    return layer != layers_.end() && layer->second.skipped.empty() ? &layer->second : nullptr;
  }

  void require_pruned(const ChannelGroup& group) const {
    for (const std::string& name : group.consumers) {
      if (pruned(model_.find(name)) == nullptr) {
        io::refuse("--permute: '{}' is no layer that is pruned", io::printable(name));
      }
    }
  }

  /// Tensors whose channels are a whole axis, as one part.
  ChannelParts parts_of(const ChannelGroup& group) const {
    ChannelParts parts;
    std::string first;
    for (const std::string& name : group.consumers) {
      const std::size_t tensor = model_.find(name);
      parts.consumers.push_back({tensor, axis_of_k(tensor), {ChannelRun{}}});
      const ChosenLayer* const layer = pruned(tensor);
      const std::size_t k = layer == nullptr ? 0 : static_cast<std::size_t>(layer->layout.k);
      if (k > 0 && parts.channels > 0 && k != parts.channels) {
        io::refuse("--permute: '{}' has k = {}, and '{}' has k = {}", io::printable(name), k, io::printable(first),
                   parts.channels);
      }
      if (k > 0 && parts.channels == 0) {
        parts.channels = k;
        first = name;
      }
    }
    for (const std::string& name : group.producers) {
      const std::size_t tensor = model_.find(name);
      const std::size_t axis = axis_of_rows(tensor, parts.channels);
      const std::vector<std::int64_t>& shape = model_.tensors()[tensor].entry.shape;
      if (shape.empty() || shape[axis] != static_cast<std::int64_t>(parts.channels)) {
        io::refuse("--permute: '{}' does not make the {} channels that '{}' takes", io::printable(name), parts.channels,
                   io::printable(group.consumers[0]));
      }
      parts.producers.push_back({tensor, axis, {ChannelRun{}}});
    }
    return parts;
  }

  /// One of `sharing` searches that together may take as long as one.
  sparsity::ColumnOrder search(const base::Matrix<float>& weights, std::size_t sharing) const {
    sparsity::PermutationSearch search;
    search.pattern = pattern_.pattern;
    search.seed = options_.seed;
    search.most_work /= static_cast<double>(sharing);
    search.most_work_to_restart /= static_cast<double>(sharing);
    return sparsity::permutation_search(weights, search);
  }

  void report_all() {
    for (const auto& [tensor, layer] : layers_) {
      if (layer.skipped.empty()) {
        const io::Tensor whole = read_tensor(model_, tensor);
        const sparsity::ColumnOrder found = search(load_weights(whole, layer.type, layer.layout), 1);
        result_.reports[tensor] = {whole.name, false, found.kept_before, found.kept_after};
      }
    }
  }

  std::vector<LoadedWeights> loaded(const ChannelParts& group) const {
    std::vector<LoadedWeights> all;
    for (const ChannelAxis& axis : group.consumers) {
      if (const ChosenLayer* const layer = pruned(axis.tensor)) {
        all.push_back({&axis, 0, load_weights(read_tensor(model_, axis.tensor), layer->type, layer->layout)});
        all.back().rows_of_slice =
            axis.sliced ? static_cast<std::size_t>(layer->layout.taps) : all.back().weights.rows();
      }
    }
    return all;
  }

  /// The columns of `part`, one run above the other.
  static base::Matrix<float> stacked(const std::vector<LoadedWeights>& all, std::size_t part, std::size_t channels) {
    std::vector<std::pair<const float*, std::size_t>> rows;  // the first channel of each, and how far the next one is
    for (const LoadedWeights& one : all) {
      for (const ChannelRun& run : one.axis->runs) {
        for (std::size_t row = 0; run.part == part && row < one.rows_of_slice; ++row) {
          rows.emplace_back(one.weights.row(run.slice * one.rows_of_slice + row).data() + run.first, run.stride);
        }
      }
    }
    base::Matrix<float> result(rows.size(), channels);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t c = 0; c < channels; ++c) {
        result(row, c) = rows[row].first[c * rows[row].second];
      }
    }
    return result;
  }

  FoundOrders orders_of(const ChannelParts& group) const {
    const std::vector<LoadedWeights> all = loaded(group);
    const std::size_t sharing = group.consumers[0].sliced ? 1 : group.parts;  // heads of a layer
    FoundOrders result;
    double sum = 0, before = 0, after = 0;
    for (std::size_t part = 0; part < group.parts; ++part) {
      const base::Matrix<float> weights = stacked(all, part, group.channels);
      const double size =
          std::accumulate(weights.data(), weights.data() + weights.size(), 0.0,
                          [](double magnitudes, float weight) { return magnitudes + std::fabs(weight); });
      sparsity::ColumnOrder order = search(weights, sharing);
      sum += size;
      before += size * order.kept_before;
      after += size * order.kept_after;
      const bool gains = order.kept_after > order.kept_before;
      result.report.applied = result.report.applied || gains;
      result.orders.push_back(gains ? std::move(order.order) : std::vector<std::size_t>());
    }
    result.report.group = model_.tensors()[group.consumers[0].tensor].entry.name;
    result.report.magnitude_before = sum > 0 ? before / sum : 1;
    result.report.magnitude_after = sum > 0 ? after / sum : 1;
    return result;
  }

  /// The order along an axis, behind each other those of its slices.
  std::vector<std::size_t> order_along(const ChannelAxis& axis, const FoundOrders& of) const {
    const std::vector<std::int64_t>& shape = model_.tensors()[axis.tensor].entry.shape;
    const auto extent = static_cast<std::size_t>(shape[axis.axis]);
    const std::size_t slices = axis.sliced ? static_cast<std::size_t>(shape[0]) : 1;
    std::vector<std::size_t> order(slices * extent);
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i % extent;
    }
    for (const ChannelRun& run : axis.runs) {
      const std::vector<std::size_t>& own = of.orders[run.part];
      for (std::size_t c = 0; c < own.size(); ++c) {
        order[run.slice * extent + run.first + c * run.stride] = run.first + own[c] * run.stride;
      }
    }
    return order;
  }

  void add(const ChannelAxis& axis, bool is_k, const FoundOrders& orders) {
    std::vector<ChannelPermutation::Axis>& axes = result_.axes[axis.tensor];
    for (const ChannelPermutation::Axis& other : axes) {
      if (other.axis == axis.axis) {
        io::refuse("--permute: '{}' is permuted twice along one axis",
                   io::printable(model_.tensors()[axis.tensor].entry.name));
      }
    }
    axes.push_back({axis.axis, is_k, order_along(axis, orders)});
  }

  void apply(const ChannelParts& group) {
    const FoundOrders orders = orders_of(group);
    for (const ChannelAxis& axis : group.consumers) {
      if (pruned(axis.tensor) != nullptr) {
        result_.reports[axis.tensor] = orders.report;
      }
    }
    for (const auto& [axes, is_k] : {std::pair(&group.consumers, true), {&group.producers, false}}) {
      for (std::size_t i = 0; orders.report.applied && i < axes->size(); ++i) {
        add((*axes)[i], is_k, orders);
      }
    }
  }

  /// The axis of a producer that has its channels. Beside that of a vector there are axes of extent 1 only.
  std::size_t axis_of_rows(std::size_t tensor, std::size_t channels) const {
    const std::vector<std::int64_t>& shape = model_.tensors()[tensor].entry.shape;
    const auto ones = static_cast<std::size_t>(std::ranges::count(shape, 1));
    if (ones + 1 == shape.size()) {
      const auto found = std::ranges::find(shape, static_cast<std::int64_t>(channels));
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
  const sparsity::WeightPattern pattern_;
  ChannelPermutation result_;
};

}  // namespace

io::Tensor ChannelPermutation::read(const ModelFile& model, std::size_t tensor) const {
  io::Tensor result = read_tensor(model, tensor);
  const auto found = axes.find(tensor);
  if (found != axes.end()) {
    for (const Axis& axis : found->second) {
      permute_axis(result, axis.axis, axis.order);
    }
  }
  return result;
}

std::span<const std::size_t> ChannelPermutation::order_of_k(std::size_t tensor) const {
  const auto found = axes.find(tensor);
  if (found != axes.end()) {
    for (const Axis& axis : found->second) {
      if (axis.is_k) {
        return axis.order;
      }
    }
  }
  return {};
}

std::optional<PermutationReport> ChannelPermutation::report(std::size_t tensor) const {
  const auto found = reports.find(tensor);
  return found == reports.end() ? std::nullopt : std::optional(found->second);
}

ChannelPermutation plan_permutation(const ModelFile& model, const std::map<std::size_t, ChosenLayer>& layers,
                                    const PruneOptions& options) {
  return PermutationPlan(model, layers, options).run();
}

}  // namespace sptc::prune
