// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/walker.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/onnx/rule.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace sptc::workload::onnx {
namespace {

Origin origin_of(const Tensor& tensor) {
  return {tensor.raw, tensor.type, tensor.dims, false};
}

/// Of a constant, and of what only changes its type or swaps its two axes.
std::optional<Origin> origin_behind(const Node& node, const std::vector<Value>& inputs) {
  if (node.op == "Constant") {
    const auto value = node.attributes.find("value");
    return value != node.attributes.end() && value->second.tensor
               ? std::optional(origin_of(*value->second.tensor))
               : std::nullopt;
  }
  if (node.op == "DequantizeLinear") {
    return quantized_origin(node, inputs, 0, 2, node.integer("axis", 1));
  }
  std::optional<Origin> origin = inputs.empty() ? std::nullopt : inputs[0].origin;
  if (!origin || node.op == "Identity" || node.op == "Cast" || node.op == "QuantizeLinear") {
    return origin;
  }
  const bool swaps = node.op == "Transpose" && origin->dims.size() == 2 &&
                     node.integers("perm", {1, 0}) == Dims{1, 0};
  origin->transposed = !origin->transposed;
  return swaps ? origin : std::nullopt;
}

/// Why the extents are not known, for the reason of what follows.
void inherit_loss(const Node& node, const std::vector<Value>& inputs, Value& value) {
  if (value.dims) {
    value.lost.clear();
    return;
  }
  value.lost = "the operator " + io::printable(node.op) + " is not followed";
  for (const Value& input : inputs) {
    if (!input.lost.empty()) {
      value.lost = input.lost;
    }
  }
}

const Graph* graph_of(const Node& node, const std::string& key) {
  const auto found = node.attributes.find(key);
  return found == node.attributes.end() || found->second.graphs.empty()
             ? nullptr
             : found->second.graphs.front().get();
}

/// `value` before a loop says nothing of its numbers in the loop.
Value carried(Value value) {
  value.integers.reset();
  value.reals.clear();
  value.constant = false;
  return value;
}

/// Attributes that refer to those of the call of a function get their values.
Node instantiate(Node node, const Node& call, const Function& function) {
  for (auto at = node.attributes.begin(); at != node.attributes.end();) {
    const std::string& name = at->second.refers_to;
    if (name.empty()) {
      ++at;
      continue;
    }
    const auto given = call.attributes.find(name);
    const auto absent = function.defaults.find(name);
    if (given != call.attributes.end()) {
      (at++)->second = given->second;
    } else if (absent != function.defaults.end()) {
      (at++)->second = absent->second;
    } else {
      at = node.attributes.erase(at);
    }
  }
  return node;
}

/// The axis along which a Scan takes or gathers its tensor `index` of `rank` axes.
std::optional<std::size_t> scanned_axis(const Node& node, const char* attribute, std::size_t index,
                                        std::size_t rank) {
  const Dims axes = node.integers(attribute, {});
  return rule::axis_of(index < axes.size() ? axes[index] : 0, static_cast<std::int64_t>(rank));
}

Dims without(Dims dims, std::size_t axis) {
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return dims;
}

Dims with(Dims dims, std::size_t axis, std::int64_t extent) {
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return dims;
}

/// How many inputs a model takes at once: the extent that is called a batch or, where none is, the
/// first one of its inputs with several dimensions, where they have the same.
class BatchOfInputs {
 public:
  void add(const Input& input, const Dims& dims) {
    for (std::size_t i = 0; i < std::min(dims.size(), input.dim_names.size()); ++i) {
      std::string name = input.dim_names[i];
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      if (name.find("batch") != std::string::npos) {
        named_.insert(dims[i]);
      }
    }
    if (dims.size() > 1) {
      first_.insert(dims.front());
    }
  }
  /// 0: not known.
  std::int64_t value() const {
    const std::set<std::int64_t>& extents = named_.empty() ? first_ : named_;
    return extents.size() == 1 ? *extents.begin() : 0;
  }

 private:
  std::set<std::int64_t> named_, first_;
};

}  // namespace

Walker::Walker(const Model& model, const ImportOptions& options, const std::string& file,
               std::shared_ptr<const ModelBytes> bytes)
    : options_(options), file_(file), bytes_(std::move(bytes)) {
  for (const Function& function : model.functions) {
    functions_.emplace(function.domain + "::" + function.name, &function);
  }
  refuse_unknown_inputs(model.graph);
  bind_inputs(model.graph);
  visit_graph(model.graph);
}

void Walker::bind_inputs(const Graph& graph) {
  std::set<std::string> weights;
  for (const Tensor& tensor : graph.initializers) {
    weights.insert(tensor.name);
  }
  OpenDims dims(options_.dims, file_);
  BatchOfInputs batch;
  for (const Input& input : graph.inputs) {
    if (!weights.contains(input.name)) {
      Value& value = values_[input.name];
      value.type = input.type;
      value.dims = bounded(input_dims(input, dims));
      batch.add(input, *value.dims);
    }
  }
  inputs_at_once_ = batch.value();
  dims.refuse_missing();
  dims.refuse_unused();
}

Dims Walker::input_dims(const Input& input, OpenDims& open) const {
  const auto given = options_.inputs.find(input.name);
  if (given != options_.inputs.end()) {
    return given->second;
  }
  if (!input.has_shape) {
    throw base::InputError(
        fmt::format("{}: the shape of the input '{}' is open: give it, for "
                    "example --input {}=1,3,224,224",
                    file_, io::printable(input.name), io::printable(input.name)));
  }
  Dims dims = input.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      // Some programs write "?" for what has no name.
      const std::string& name = input.dim_names[i];
      dims[i] = open.value_or_missing(
          name.empty() || name == "?" ? fmt::format("{}.{}", input.name, i) : name);
    }
    if (dims[i] > kMaxExtent) {
      throw base::InputError(fmt::format("{}: dimension {} of the input '{}' is {}, beyond {}",
                                         file_, i, io::printable(input.name), dims[i], kMaxExtent));
    }
  }
  return dims;
}

void Walker::refuse_unknown_inputs(const Graph& graph) const {
  for (const auto& [name, dims] : options_.inputs) {
    std::vector<std::string_view> names;
    for (const Input& input : graph.inputs) {
      names.emplace_back(input.name);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw base::InputError(fmt::format("--input: {} has no input {}", file_,
                                         base::unknown_name(io::printable(name), names)));
    }
  }
}

void Walker::visit_graph(const Graph& graph) {
  effort_.add(effort_of(graph));
  for (const Input& value : graph.values) {
    if (value.has_shape && std::all_of(value.dims.begin(), value.dims.end(),
                                       [](std::int64_t extent) { return extent > 0; })) {
      stated_.insert_or_assign(value.name, &value);
    }
  }
  for (const Tensor& tensor : graph.initializers) {
    values_[tensor.name] = {
        bounded(tensor.dims), tensor.integers, tensor.reals, tensor.type, true, false, "",
        origin_of(tensor)};
  }
  for (const Node& node : graph.nodes) {
    visit(node);
  }
}

void Walker::visit(const Node& node) {
  Values inputs;
  std::size_t effort = 0;
  for (const std::string& name : node.inputs) {
    inputs.push_back(value_of(name));
    effort += effort_of(inputs.back());
  }
  effort_.add(effort_of(node) + effort * std::max<std::size_t>(1, node.outputs.size()));
  if (visit_inner(node, inputs)) {
    return;
  }
  Values outputs;
  if (std::optional<Lowered> lowered = lower({node, inputs, bytes_})) {
    outputs = std::move(lowered->outputs);
    for (RecordedLaunch& launch : lowered->launches) {
      add(inputs, std::move(launch));
    }
    const bool bias = (node.op == "Gemm" || node.op == "Conv") && inputs.size() > 2;
    if (bias && !outputs.empty()) {
      add_step(node, inputs, outputs[0]);
    }
  } else {
    outputs = infer_outputs(node, inputs);
    outputs[0].origin = origin_behind(node, inputs);
    for (Value& value : outputs) {
      inherit_loss(node, inputs, value);
    }
    add_step(node, inputs, outputs[0]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    effort_.add(effort_of(outputs[i]));
    set(node, i, std::move(outputs[i]));
  }
}

bool Walker::visit_inner(const Node& node, const Values& inputs) {
  constexpr int kMaxDepth = 64;
  const auto function = functions_.find(node.domain + "::" + node.op);
  const bool inner = node.op == "If" || node.op == "Loop" || node.op == "Scan";
  if (!inner && function == functions_.end()) {
    return false;
  }
  if (depth_ == kMaxDepth) {
    throw base::InputError(fmt::format(
        "{}: functions, branches and loops are nested deeper than {} levels", file_, kMaxDepth));
  }
  ++depth_;
  if (function != functions_.end()) {
    visit_function(node, *function->second, inputs);
  } else if (node.op == "If") {
    visit_branch(node, inputs);
  } else if (node.op == "Loop") {
    visit_loop(node, inputs);
  } else {
    visit_scan(node, inputs);
  }
  --depth_;
  return true;
}

void Walker::visit_branch(const Node& node, const Values& inputs) {
  const Graph* taken = graph_of(node, "then_branch");
  const Graph* other = graph_of(node, "else_branch");
  const auto condition = inputs.empty() ? std::nullopt : numbers_of(inputs[0]);
  const bool known = condition && condition->size() == 1;
  const std::int64_t in_then = taken != nullptr ? gemms_in(*taken) : 0;
  const std::int64_t in_else = other != nullptr ? gemms_in(*other) : 0;
  const bool take_else = known ? condition->front() == 0 : in_else > in_then;
  if (take_else) {
    std::swap(taken, other);
  }
  if (!known && in_then + in_else > 0) {
    notes_.push_back(fmt::format(
        "the condition of If '{}' is not in the model: its {} branch is taken, which has {} GEMM "
        "operators, and not the other with {}",
        io::printable(base::shortened(node.label(), 60)), take_else ? "else" : "then",
        std::max(in_then, in_else), std::min(in_then, in_else)));
  }
  if (other != nullptr) {
    leave_inner(*other, kAnotherBranch);
  }
  if (taken == nullptr) {
    return;
  }
  visit_graph(*taken);
  for (std::size_t i = 0; i < taken->outputs.size(); ++i) {
    set(node, i, value_of(taken->outputs[i]));
  }
}

void Walker::visit_loop(const Node& node, const Values& inputs) {
  const Graph* body = graph_of(node, "body");
  if (body == nullptr) {
    return;
  }
  const auto most = inputs.empty() ? std::nullopt : numbers_of(inputs[0]);
  const bool counted = most && most->size() == 1 && most->front() >= 1 &&
                       most->front() <= static_cast<double>(kMaxExtent);
  const std::int64_t times = counted ? static_cast<std::int64_t>(most->front()) : 0;
  Values given(2);  // the iteration and whether to go on
  given[0].dims = given[1].dims = Dims{};
  given[0].type = Type::kInt64;
  for (std::size_t i = 2; i < inputs.size(); ++i) {
    given.push_back(carried(inputs[i]));
  }
  visit_body(node, *body, times, given);
  const std::size_t states = inputs.size() < 2 ? 0 : inputs.size() - 2;
  for (std::size_t i = 1; i < body->outputs.size(); ++i) {
    Value value = carried(value_of(body->outputs[i]));
    if (i - 1 >= states && value.dims) {  // gathered over the iterations
      value = rule::with_dims(value,
                              counted ? std::optional(with(*value.dims, 0, times)) : std::nullopt);
    }
    inherit_loss(node, {}, value);
    set(node, i - 1, std::move(value));
  }
}

void Walker::visit_scan(const Node& node, const Values& inputs) {
  const Graph* body = graph_of(node, "body");
  const std::int64_t scanned = node.integer("num_scan_inputs", 0);
  if (body == nullptr || scanned < 1 || scanned > static_cast<std::int64_t>(inputs.size())) {
    return;
  }
  const std::size_t states = inputs.size() - static_cast<std::size_t>(scanned);
  std::int64_t times = 0;
  Values given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(carried(inputs[i]));
    if (i >= states && inputs[i].dims) {
      const Dims& dims = *inputs[i].dims;
      const auto axis = scanned_axis(node, "scan_input_axes", i - states, dims.size());
      times = axis ? dims[*axis] : times;
      given.back().dims = axis ? std::optional(without(dims, *axis)) : std::nullopt;
    }
  }
  visit_body(node, *body, times, given);
  for (std::size_t i = 0; i < body->outputs.size(); ++i) {
    Value value = carried(value_of(body->outputs[i]));
    if (i >= states && value.dims) {
      const auto axis = scanned_axis(node, "scan_output_axes", i - states, value.dims->size() + 1);
      value = rule::with_dims(value,
                              axis ? std::optional(with(*value.dims, *axis, times)) : std::nullopt);
    }
    inherit_loss(node, {}, value);
    set(node, i, std::move(value));
  }
}

void Walker::visit_body(const Node& node, const Graph& body, std::int64_t times,
                        const Values& given) {
  const auto repeats = times > 0 ? extent_product({repeats_, times}) : 0;
  if (repeats == 0) {
    leave_inner(body, "inside " + node.op + ": how often it runs is not in the model");
  }
  for (std::size_t i = 0; i < body.inputs.size() && i < given.size(); ++i) {
    values_[body.inputs[i].name] = given[i];
  }
  const std::int64_t outside = std::exchange(repeats_, repeats);
  visit_graph(body);
  repeats_ = outside;
}

void Walker::visit_function(const Node& node, const Function& function, const Values& inputs) {
  std::unordered_map<std::string, Value> inside;
  for (std::size_t i = 0; i < function.inputs.size() && i < inputs.size(); ++i) {
    inside[function.inputs[i]] = inputs[i];
  }
  std::swap(values_, inside);
  std::unordered_map<std::string, const Input*> outer_stated;
  std::swap(stated_, outer_stated);
  effort_.add(effort_of(prefix_));
  const std::string outer_prefix = std::exchange(prefix_, prefix_ + node.label() + "/");
  for (const Node& inner : function.nodes) {
    const bool refers = std::any_of(inner.attributes.begin(), inner.attributes.end(),
                                    [](const auto& row) { return !row.second.refers_to.empty(); });
    if (refers) {
      visit(instantiate(inner, node, function));
    } else {
      visit(inner);
    }
  }
  Values outputs;
  for (const std::string& name : function.outputs) {
    outputs.push_back(value_of(name));
  }
  prefix_ = outer_prefix;
  std::swap(stated_, outer_stated);
  std::swap(values_, inside);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    set(node, i, std::move(outputs[i]));
  }
}

void Walker::leave_inner(const Graph& graph, const std::string& reason) {
  if (repeats_ == 0) {
    return;  // said where the loop around begins
  }
  for (const Node& inner : graph.nodes) {
    effort_.add(effort_of(inner));
    if (launches_gemms(inner.op)) {
      RecordedLaunch launch;
      launch.op.name = inner.label();
      launch.reason = reason;
      list_.add(std::move(launch), file_);
    }
    for (const auto& [key, attribute] : inner.attributes) {
      for (const auto& deeper : attribute.graphs) {
        leave_inner(*deeper, reason);
      }
    }
  }
}

std::int64_t Walker::gemms_in(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    effort_.add(effort_of(node));
    count += launches_gemms(node.op) ? 1 : 0;
    for (const auto& [key, attribute] : node.attributes) {
      for (const auto& inner : attribute.graphs) {
        count += gemms_in(*inner);
      }
    }
  }
  return count;
}

Value Walker::value_of(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return {};
  }
  effort_.add(effort_of(name) + effort_of(found->second));
  return found->second;
}

void Walker::set(const Node& node, std::size_t output, Value value) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) {
    return;
  }
  const auto stated = stated_.find(node.outputs[output]);
  if (!value.dims && stated != stated_.end()) {
    value.dims = bounded(stated->second->dims);
    value.lost.clear();
    value.type = value.type == Type::kNone ? stated->second->type : value.type;
  }
  values_[node.outputs[output]] = std::move(value);
}

void Walker::add_step(const Node& node, const Values& inputs, const Value& output) {
  if (repeats_ == 0) {
    return;  // leave_inner() has said so
  }
  if (std::optional<Step> step = step_of(node, inputs, output)) {
    step->after = list_.taken();
    step->count = repeats_;
    steps_.push_back(std::move(*step));
  }
}

void Walker::add(const Values& inputs, RecordedLaunch launch) {
  if (repeats_ == 0) {
    return;  // leave_inner() has said so
  }
  const bool empty = std::any_of(inputs.begin(), inputs.end(), [](const Value& input) {
    return input.dims && std::find(input.dims->begin(), input.dims->end(), 0) != input.dims->end();
  });
  const base::GemmShape& shape = launch.op.shape;
  if (launch.reason.empty() && empty && (shape.m == 0 || shape.n == 0 || shape.k == 0)) {
    launch.reason = "an operand is empty";
  }
  effort_.add(prefix_.size() + launch.op.name.size() + launch.op.input.size() +
              launch.reason.size());
  launch.op.name = prefix_ + launch.op.name;
  launch.op.count = extent_product({launch.op.count, repeats_});
  const std::string place = file_ + ": " + io::printable(launch.op.name);
  list_.add(std::move(launch), place);
}

}  // namespace sptc::workload::onnx
