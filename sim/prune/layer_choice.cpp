// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/layer_choice.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/type_name.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"
#include "sim/prune/onnx_layers.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;

constexpr DataType kExecuted[] = {DataType::kF16,  DataType::kBf16, DataType::kTf32,
                                  DataType::kE4m3, DataType::kE5m2, DataType::kS8,
                                  DataType::kS4};

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

/// A list is of this model, and of its weights.
void require_all_listed(const NameRule& rule, const std::vector<ChosenLayer>& layers,
                        const ModelFile& model) {
  std::set<std::string> missing = rule.listed();
  for (const ChosenLayer& layer : layers) {
    missing.erase(model.tensors()[layer.tensor].entry.name);
  }
  if (!missing.empty()) {
    model.find(*missing.begin());  // says which names there are
    throw base::InputError(fmt::format("{}: the listed tensor '{}' is no weight that can be pruned",
                                       model.shown(), io::printable(*missing.begin())));
  }
}

/// NumPy has no bfloat16, so U16 holds the bits of the type that is to be executed.
std::optional<DataType> type_of(const io::TensorEntry& entry, const PruneOptions& options) {
  const bool raw =
      entry.dtype == "U16" && options.dtype && numerics::storage_bits(*options.dtype) == 16;
  return raw ? options.dtype : weight_type(entry.dtype);
}

/// Why a layer cannot be pruned; empty where it can.
std::string obstacle(const ChosenLayer& layer, const std::string& name,
                     const PruneOptions& options) {
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
    return "filters of more than one tap have no compressed form";
  }
  try {
    compressed_entries(name, form_of_layer(layer, options));
  } catch (const base::InputError& error) {
    return error.what();
  }
  return {};
}

/// The initializers of an ONNX model that are weights, and whether they are [k, rows].
std::map<std::string, bool> graph_layers(const ModelFile& model) {
  std::map<std::string, bool> layers;
  if (model.onnx_graph() != nullptr) {
    for (const OnnxLayer& layer : onnx_layers(*model.onnx_graph())) {
      layers[layer.initializer] = layer.k_first;
    }
  }
  return layers;
}

}  // namespace

sparsity::WeightPattern pattern_of(const PruneOptions& options) {
  const sparsity::Pattern hardware =
      sparsity::hardware_pattern(options.dtype.value_or(DataType::kF16));
  sparsity::WeightPattern pattern = options.pattern.value_or(sparsity::WeightPattern{hardware, 0});
  const bool same =
      pattern.pattern.kept == hardware.kept && pattern.pattern.group == hardware.group;
  if (hardware.run > 1) {
    if (!same || pattern.vector_rows > 0) {
      throw base::InputError(fmt::format("weights of {} are {} in pairs, not {}",
                                         numerics::name(*options.dtype), hardware.name(),
                                         pattern.name()));
    }
    pattern.pattern.run = hardware.run;
  }
  return pattern;
}

DataType parse_executed_type(std::string_view name) {
  std::vector<std::string_view> names;
  const auto asked = numerics::parse_usual_type(name);
  for (const DataType type : kExecuted) {
    if (asked == type) {
      return type;
    }
    names.push_back(numerics::name(type));
  }
  throw base::InputError("unknown type " + base::unknown_name(io::printable(name), names));
}

CompressedForm form_of_layer(const ChosenLayer& layer, const PruneOptions& options) {
  CompressedForm form;
  form.type = options.dtype.value_or(layer.type == DataType::kF32 ? DataType::kTf32 : layer.type);
  if (!numerics::info(form.type).is_float() && numerics::info(layer.type).is_float()) {
    throw base::InputError(fmt::format("weights of {} are not quantised to {} here",
                                       numerics::name(layer.type), numerics::name(form.type)));
  }
  form.layout = options.layout;
  form.rows = layer.layout.rows;
  form.k = layer.layout.k;
  form.k_first = layer.layout.k_first;
  const sparsity::WeightPattern pattern = pattern_of(options);
  const sparsity::Pattern hardware = sparsity::hardware_pattern(form.type);
  if (pattern.vector_rows > 0 || !(pattern.pattern == hardware)) {
    throw base::InputError(fmt::format(
        "weights of {} are compressed at {}, not at {}: choose --dtype or --pattern for that",
        numerics::name(form.type), hardware.name(), pattern.name()));
  }
  return form;
}

std::vector<ChosenLayer> choose_layers(const ModelFile& model, const PruneOptions& options) {
  const NameRule wanted("--layers", options.layers);
  const NameRule unwanted("--exclude", options.exclude);
  const NameRule usually_unwanted("", std::string(kUsualExclusion));
  const NameRule transposed("--transposed", options.transposed);
  const std::map<std::string, bool> of_graph = graph_layers(model);
  std::vector<ChosenLayer> layers;
  bool any = false;
  for (std::size_t i = 0; i < model.tensors().size(); ++i) {
    const io::TensorEntry& entry = model.tensors()[i].entry;
    const auto in_graph = of_graph.find(entry.name);
    const bool usual = model.onnx_graph() != nullptr ? in_graph != of_graph.end()
                                                     : !usually_unwanted.has(entry.name);
    const bool k_first = in_graph != of_graph.end() ? in_graph->second : transposed.has(entry.name);
    const std::optional<LayerLayout> layout = layer_layout(entry.shape, k_first);
    const std::optional<DataType> type = type_of(entry, options);
    if (!layout || !type || unwanted.has(entry.name) ||
        !(wanted.given() ? wanted.has(entry.name) : usual)) {
      continue;
    }
    ChosenLayer layer{i, *type, *layout, {}};
    layer.skipped = obstacle(layer, entry.name, options);
    if (wanted.given() && !layer.skipped.empty()) {
      throw base::InputError(fmt::format("{}: layer '{}' cannot be pruned to {}: {}", model.shown(),
                                         io::printable(entry.name), pattern_of(options).name(),
                                         layer.skipped));
    }
    any = any || layer.skipped.empty();
    layers.push_back(layer);
  }
  require_all_listed(wanted, layers, model);
  if (!any) {
    throw base::InputError(fmt::format(
        "{}: none of its {} tensors can be pruned to {}{}", model.shown(), model.tensors().size(),
        pattern_of(options).name(),
        layers.empty() ? "; --layers names those that are weights"
                       : fmt::format(": of '{}' {}",
                                     io::printable(model.tensors()[layers[0].tensor].entry.name),
                                     layers[0].skipped)));
  }
  return layers;
}

}  // namespace sptc::prune
