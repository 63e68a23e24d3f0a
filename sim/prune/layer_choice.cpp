// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/layer_choice.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "models/numerics/data_type_info.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"
#include "sim/kernels/operand_storage.h"
#include "sim/prune/expert_axes.h"
#include "sim/prune/onnx_layers.h"
#include "sim/prune/packed_weights.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;

constexpr DataType kExecuted[] = {DataType::kF16,  DataType::kBf16, DataType::kTf32, DataType::kE4m3,
                                  DataType::kE5m2, DataType::kS8,   DataType::kS4};

/// A rule of names, an expression or a list after '@'; an empty one matches none.
class NameRule {
 public:
  NameRule(std::string_view option, const std::string& expression) {
    if (expression.empty()) {
      return;
    }
    if (expression.front() == '@') {
      for (workload::ListedLayer& layer : workload::read_layer_list(expression.substr(1))) {
        listed_.insert(std::move(layer.tensor));
      }
      return;
    }
    expression_.emplace(option, expression);
  }
  bool given() const { return expression_.has_value() || !listed_.empty(); }
  bool has(const std::string& name) const {
    return listed_.contains(name) || (expression_ && expression_->found_in(name));
  }
  const std::set<std::string>& listed() const { return listed_; }

 private:
  std::optional<io::RegularExpression> expression_;
  std::set<std::string> listed_;
};

/// NumPy has no bfloat16, so U16 holds the bits of the type that is to be executed.
std::optional<DataType> type_of(const io::TensorEntry& entry, const PruneOptions& options) {
  const bool raw = entry.dtype == "U16" && options.dtype && numerics::storage_bits(*options.dtype) == 16;
  return raw ? options.dtype : weight_type(entry.dtype);
}

/// Why a layer cannot be pruned; empty where it can.
std::string obstacle(const ChosenLayer& layer, const PruneOptions& options) {
  const sparsity::WeightPattern pattern = pattern_of(options);
  if (layer.layout.k % pattern.pattern.group != 0) {
    return fmt::format("k = {} is no multiple of {}", layer.layout.k, pattern.pattern.group);
  }
  if (layer.layout.rows == 0 || layer.layout.k == 0 || layer.layout.taps == 0) {
    return "it has no element";
  }
  if (options.layout == WeightLayout::kDense) {
    return {};
  }
  if (layer.layout.taps > 1) {
    return fmt::format("{} have no compressed form",
                       layer.layout.stacked ? "several experts in one tensor" : "filters of more than one tap");
  }
  try {
    compressed_entries(layer.name, form_of_layer(layer, options));
  } catch (const base::InputError& error) {
    return error.what();
  }
  return {};
}

/// Names that share a reason, for one sentence.
class Named {
 public:
  void add(const std::string& what, const std::string& name) {
    auto& [first, count] = names_[what];
    first = count++ == 0 ? io::printable(base::shortened(name, kNameBytes)) : first;
  }
  /// A sentence for each reason: `begin`, the first name, how many more, `middle` and the reason.
  void tell(std::string_view middle, std::vector<std::string>& notes) const {
    for (const auto& [what, row] : names_) {
      notes.push_back(fmt::format("'{}'{}{}{}", row.first,
                                  row.second > 1 ? fmt::format(" and {} more tensors", row.second - 1) : "", middle,
                                  what));
    }
  }

 private:
  static constexpr std::size_t kNameBytes = 60;
  std::map<std::string, std::pair<std::string, int>> names_;
};

class Choice {
 public:
  Choice(const ModelFile& model, const PruneOptions& options)
      : model_(model),
        options_(options),
        wanted_("--layers", options.layers),
        unwanted_("--exclude", options.exclude),
        included_("--include", options.include),
        transposed_("--transposed", options.transposed) {
    if (!options.k_axis.empty() && options.k_axis != "last" && options.k_axis != "1") {
      io::refuse("--k-axis must be last or 1, not '{}'", io::printable(options.k_axis));
    }
    if (model.onnx_graph() != nullptr) {
      for (OnnxLayer& layer : onnx_layers(*model.onnx_graph())) {
        of_graph_.emplace(layer.initializer, std::move(layer));
      }
    }
    for (PackedWeight& weight : packed_weights(model)) {
      for (const std::size_t part : weight.parts) {
        packed_.emplace(part, PackedWeight());
      }
      packed_[weight.tensor] = std::move(weight);
    }
  }

  LayerChoice result() && {
    for (std::size_t i = 0; i < model_.tensors().size(); ++i) {
      look_at(i);
    }
    leave_absent();
    require_all_listed();
    filters_.tell(": filters [rows, k, taps]; --k-axis last takes the last axis as k", result_.notes);
    experts_.tell(": weights of experts, ", result_.notes);
    roles_.tell(": left, by the name a ", result_.notes);
    types_.tell(": left byte for byte, of type ", result_.notes);
    return std::move(result_);
  }

 private:
  void look_at(std::size_t i) {
    const io::TensorEntry& entry = model_.tensors()[i].entry;
    const auto in_graph = of_graph_.find(entry.name);
    const OnnxLayer* const node = in_graph == of_graph_.end() ? nullptr : &in_graph->second;
    if (const auto packed = packed_.find(i); packed != packed_.end()) {
      add_packed(i, packed->second);
      return;
    }
    const bool asked = wanted_.given() && wanted_.has(entry.name);
    const bool usual = model_.onnx_graph() == nullptr || node != nullptr;
    if (unwanted_.has(entry.name) || !(wanted_.given() ? asked : usual)) {
      return;
    }
    const std::optional<DataType> type = type_of(entry, options_);
    const std::optional<LayerLayout> layout = layer_layout(entry.shape, axes_of(i, node));
    if (!type || !layout) {
      leave_unread(entry, type.has_value(), node);
      return;
    }
    ChosenLayer layer{i, *type, *layout, {}, entry.name};
    const std::string_view role = asked || included_.has(entry.name) ? "" : role_of(entry, node);
    if (role == "norm" || role == "bias" || role == "scale") {
      roles_.add(std::string(role), entry.name);
      return;
    }
    layer.by_name = !role.empty();
    layer.skipped = layer.by_name ? fmt::format("{} by its name (--include prunes it)", role)
                    : node != nullptr && !node->obstacle.empty() ? node->obstacle
                                                                 : obstacle(layer, options_);
    if (layer.skipped.empty() && has_zero_point(entry)) {
      layer.skipped = "its zero point is not 0, so that zeros would be other values";
    }
    if (layer.skipped.empty()) {
      tell_axes(i, layer.layout);
    }
    add(std::move(layer));
  }

  void add(ChosenLayer layer) {
    if (wanted_.given() && !layer.skipped.empty()) {
      io::refuse("{}: layer '{}' cannot be pruned to {}: {}", model_.shown(), io::printable(layer.name),
                 pattern_of(options_).name(), layer.skipped);
    }
    result_.layers.push_back(std::move(layer));
  }

  /// The tensor with the values stands for all of them.
  void add_packed(std::size_t i, const PackedWeight& weight) {
    const std::string& name = model_.tensors()[i].entry.name;
    const bool asked = wanted_.given() && (wanted_.has(name) || wanted_.has(weight.name));
    if (weight.parts.empty() && !asked) {
      return;
    }
    if (!wanted_.given() ? unwanted_.has(name) : !asked) {
      return;
    }
    ChosenLayer layer{i,
                      weight_type(model_.tensors()[i].entry.dtype).value_or(DataType::kF16),
                      {},
                      weight.reason(),
                      weight.parts.empty() ? name : weight.name,
                      true,
                      weight.sparse};
    layer.layout.rows = weight.rows;
    layer.layout.k = weight.k;
    add(std::move(layer));
  }

  LayerAxes axes_of(std::size_t i, const OnnxLayer* node) const {
    const io::TensorEntry& entry = model_.tensors()[i].entry;
    if (node != nullptr) {
      return node->axes;
    }
    if (entry.shape.size() == 3 && !options_.k_axis.empty()) {
      const bool last = options_.k_axis == "last";
      return {0, last ? std::size_t{2} : 1, last || expert_axes(model_, i).has_value()};
    }
    if (const auto experts = expert_axes(model_, i)) {
      return experts->axes;
    }
    return transposed_.has(entry.name) ? LayerAxes{1, 0} : LayerAxes();
  }

  std::string_view role_of(const io::TensorEntry& entry, const OnnxLayer* node) const {
    std::string_view role = workload::dense_role(entry.name);
    for (std::size_t i = 0; node != nullptr && role.empty() && i < node->nodes.size(); ++i) {
      role = workload::dense_role(node->nodes[i]);
    }
    return role;
  }

  /// What integers of another offset have beside them.
  bool has_zero_point(const io::TensorEntry& entry) const {
    const auto place = entry.dtype == "I8" ? model_.place_of(entry.name + "_zero_point") : std::nullopt;
    if (!place) {
      return false;
    }
    const std::vector<std::byte> bytes = model_.read(*place);
    return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
  }

  void tell_axes(std::size_t i, const LayerLayout& layout) {
    const io::TensorEntry& entry = model_.tensors()[i].entry;
    if (layout.stacked) {
      const auto experts = options_.k_axis.empty() ? expert_axes(model_, i) : std::nullopt;
      experts_.add(fmt::format("k is {}: {}", layout.k_axis == 1 ? "axis 1" : "the last axis",
                               experts ? experts->because + " (--k-axis takes another)" : "--k-axis"),
                   entry.name);
    } else if (entry.shape.size() == 3 && model_.onnx_graph() == nullptr) {
      filters_.add("", entry.name);
    }
  }

  /// Weights of a graph, and types that no rule of ours knows, are named; tables of integers are not.
  void leave_unread(const io::TensorEntry& entry, bool has_type, const OnnxLayer* node) {
    if (node != nullptr) {
      leave_weight(*node, !node->obstacle.empty() ? node->obstacle
                          : has_type              ? "its axes are not those of rows and k"
                                                  : "elements of type " + entry.dtype + " are not pruned here");
    } else if (io::find_element_type(entry.dtype) == nullptr) {
      types_.add(io::printable(entry.dtype), entry.name);
    }
  }

  /// Weights of a graph whose elements are not to be had.
  void leave_absent() {
    for (const auto& [name, layer] : of_graph_) {
      if (!model_.place_of(name)) {
        leave_weight(layer, model_.why_absent(name));
      }
    }
  }

  void leave_weight(const OnnxLayer& layer, const std::string& reason) {
    result_.notes.push_back(fmt::format("weight '{}' [{} x {}] is left: {}", io::printable(layer.initializer),
                                        layer.rows, layer.k, reason));
  }

  /// A list is of this model, and of its weights.
  void require_all_listed() const {
    std::set<std::string> missing = wanted_.listed();
    for (const ChosenLayer& layer : result_.layers) {
      missing.erase(layer.name);
    }
    if (!missing.empty()) {
      model_.find(*missing.begin());  // says which names there are
      io::refuse("{}: the listed tensor '{}' is no weight that can be pruned", model_.shown(),
                 io::printable(*missing.begin()));
    }
  }

  const ModelFile& model_;
  const PruneOptions& options_;
  const NameRule wanted_, unwanted_, included_, transposed_;
  std::map<std::string, OnnxLayer> of_graph_;   ///< weights of a graph, by initializer
  std::map<std::size_t, PackedWeight> packed_;  ///< by part; without parts but for its values
  Named filters_, experts_, roles_, types_;
  LayerChoice result_;
};

}  // namespace

sparsity::WeightPattern pattern_of(const PruneOptions& options) {
  const sparsity::Pattern hardware = sparsity::hardware_pattern(options.dtype.value_or(DataType::kF16));
  sparsity::WeightPattern pattern = options.pattern.value_or(sparsity::WeightPattern{hardware, 0});
  const bool same = pattern.pattern.kept == hardware.kept && pattern.pattern.group == hardware.group;
  if (hardware.run > 1) {
    if (!same || pattern.vector_rows > 0) {
      io::refuse("weights of {} are {} in pairs, not {}", numerics::name(*options.dtype), hardware.name(),
                 pattern.name());
    }
    pattern.pattern.run = hardware.run;
  }
  return pattern;
}

DataType parse_executed_type(std::string_view name) {
  std::vector<std::string_view> names;
  const auto asked = kernels::parse_operand_format(name);
  for (const DataType type : kExecuted) {
    if (asked && asked->type == type) {
      return type;
    }
    names.push_back(numerics::name(type));
  }
  if (asked || kernels::parse_weight_format(name)) {
    io::refuse("there are no rules for 2:4 weights of {}, only for those of {}", name, fmt::join(names, ", "));
  }
  io::refuse("unknown type {}", base::unknown_name(io::printable(name), names));
}

CompressedForm form_of_layer(const ChosenLayer& layer, const PruneOptions& options) {
  CompressedForm form;
  form.type = options.dtype.value_or(layer.type == DataType::kF32 ? DataType::kTf32 : layer.type);
  if (!numerics::info(form.type).is_float() && numerics::info(layer.type).is_float()) {
    io::refuse("weights of {} are not quantised to {}: give the program quantised ones", numerics::name(layer.type),
               numerics::name(form.type));
  }
  form.layout = options.layout;
  form.rows = layer.layout.rows;
  form.k = layer.layout.k;
  form.k_first = layer.layout.k_first;
  const sparsity::WeightPattern pattern = pattern_of(options);
  const sparsity::Pattern hardware = sparsity::hardware_pattern(form.type);
  // That layout holds 2:4 of any type, for other programs than tensor cores.
  const bool is_stored =
      form.layout == WeightLayout::kSparse24Bitmask && pattern.pattern == sparsity::hardware_pattern(DataType::kF16);
  if (pattern.vector_rows > 0 || !(pattern.pattern == hardware || is_stored)) {
    io::refuse("weights of {} are compressed at {}, not at {}: choose --dtype or --pattern for that",
               numerics::name(form.type), hardware.name(), pattern.name());
  }
  return form;
}

LayerChoice find_layers(const ModelFile& model, const PruneOptions& options) {
  return Choice(model, options).result();
}

LayerChoice choose_layers(const ModelFile& model, const PruneOptions& options) {
  LayerChoice choice = find_layers(model, options);
  const auto& layers = choice.layers;
  if (std::ranges::none_of(layers, [](const ChosenLayer& layer) { return layer.skipped.empty(); })) {
    const std::string why = !layers.empty()
                                ? fmt::format(": '{}': {}", io::printable(layers[0].name), layers[0].skipped)
                            : !choice.notes.empty() ? ": " + choice.notes[0]
                                                    : "; --layers names those that are weights";
    io::refuse("{}: none of its {} tensors can be pruned to {}{}", model.shown(), model.tensors().size(),
               pattern_of(options).name(), why);
  }
  return choice;
}

}  // namespace sptc::prune
