// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/onnx/operators.h"
#include "sim/workload/readers.h"

namespace sptc::workload::onnx {
namespace {

constexpr std::string_view kTf32Note =
    "ONNX says no type of computation: float GEMMs are taken as TF32, quantized ones as INT8; --dtype f16 changes all "
    "of them";

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
  const Attribute* const found = node.find(key);
  return found == nullptr || found->graphs.empty() ? nullptr : found->graphs.front().get();
}

/// `value` before a loop says nothing of its numbers in the loop.
Value carried(Value value) {
  value.numbers.reset();
  value.constant = false;
  return value;
}

/// Attributes that refer to those of the call of a function get their values.
Node instantiate(Node node, const Node& call, const Function& function) {
  for (auto at = node.attributes.begin(); at != node.attributes.end();) {
    const std::string name = at->second.refers_to;
    const Attribute* const given = call.find(name);
    const auto absent = function.defaults.find(name);
    if (name.empty()) {
      ++at;
    } else if (given != nullptr || absent != function.defaults.end()) {
      (at++)->second = given != nullptr ? *given : absent->second;
    } else {
      at = node.attributes.erase(at);
    }
  }
  return node;
}

/// The axis along which a Scan takes or gathers its tensor `index` of `rank` axes.
std::optional<std::ptrdiff_t> scanned_axis(const Node& node, const char* attribute, std::size_t index,
                                           std::size_t rank) {
  const Dims axes = node.integers(attribute, {});
  return rule::axis_of(index < axes.size() ? axes[index] : 0, static_cast<std::int64_t>(rank));
}

/// Goes through nodes, branches, loops and functions in order, and gathers what they launch.
class Walker {
 public:
  /// All of them stay. Throws InputError where dimensions are open.
  Walker(const Model& model, const ImportOptions& options, const std::string& file,
         std::shared_ptr<const ModelBytes> bytes)
      : options_(options), file_(file), bytes_(std::move(bytes)) {
    for (const Function& function : model.functions) {
      functions_.emplace(function.domain + "::" + function.name, &function);
    }
    refuse_unknown_inputs(model.graph);
    bind_inputs(model.graph);
    visit_graph(model.graph);
  }

  LaunchList launches;
  std::vector<Step> steps;  ///< beside GEMMs and convolutions
  std::vector<std::string> notes;
  /// That pass through the model at once, by the extents of its inputs; 0: they do not say.
  std::int64_t inputs_at_once = 0;

 private:
  /// The batch is the extent that is called so or, where none is, the first one of the inputs with
  /// several dimensions, where they have the same.
  void bind_inputs(const Graph& graph) {
    std::set<std::string> weights;
    for (const Tensor& tensor : graph.initializers) {
      weights.insert(tensor.name);
    }
    OpenDims open(options_.dims, file_);
    std::set<std::int64_t> named, first;
    for (const Input& input : graph.inputs) {
      if (weights.contains(input.name)) {
        continue;
      }
      Value& value = values_[input.name];
      const Dims dims = bounded(input_dims(input, open));
      value.type = input.type;
      value.dims = dims;
      for (std::size_t i = 0; i < std::min(dims.size(), input.dim_names.size()); ++i) {
        if (base::lower_case(input.dim_names[i]).find("batch") != std::string::npos) {
          named.insert(dims[i]);
        }
      }
      if (dims.size() > 1) {
        first.insert(dims.front());
      }
    }
    const std::set<std::int64_t>& batches = named.empty() ? first : named;
    inputs_at_once = batches.size() == 1 ? *batches.begin() : 0;
    open.refuse_missing();
    open.refuse_unused();
  }

  Dims input_dims(const Input& input, OpenDims& open) const {
    const auto given = options_.inputs.find(input.name);
    if (given != options_.inputs.end()) {
      return given->second;
    }
    if (!input.has_shape) {
      io::refuse("{}: the shape of the input '{}' is open: give it, for example --input {}=1,3,224,224", file_,
                 io::printable(input.name), io::printable(input.name));
    }
    Dims dims = input.dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) {
        // Some programs write "?" for what has no name.
        const std::string& name = input.dim_names[i];
        dims[i] = open.value_or_missing(name.empty() || name == "?" ? fmt::format("{}.{}", input.name, i) : name);
      }
      if (dims[i] > kMaxExtent) {
        io::refuse("{}: dimension {} of the input '{}' is {}, beyond {}", file_, i, io::printable(input.name), dims[i],
                   kMaxExtent);
      }
    }
    return dims;
  }

  void refuse_unknown_inputs(const Graph& graph) const {
    for (const auto& [name, dims] : options_.inputs) {
      std::vector<std::string_view> names;
      std::ranges::transform(graph.inputs, std::back_inserter(names), &Input::name);
      if (std::ranges::count(names, name) == 0) {
        io::refuse("--input: {} has no input {}", file_, base::unknown_name(io::printable(name), names));
      }
    }
  }

  void visit_graph(const Graph& graph) {
    count_visits(graph.values.size() + graph.initializers.size());
    for (const Input& value : graph.values) {
      if (value.has_shape && std::ranges::all_of(value.dims, [](std::int64_t extent) { return extent > 0; })) {
        stated_.insert_or_assign(value.name, &value);
      }
    }
    for (const Tensor& tensor : graph.initializers) {
      values_[tensor.name] = constant_of(tensor);
    }
    for (const Node& node : graph.nodes) {
      visit(node);
    }
  }

  void visit(const Node& node) {
    count_visits(node);
    Inputs inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(value_of(name));
    }
    if (visit_inner(node, inputs)) {
      return;
    }
    std::vector<Value> outputs;
    if (launches_gemms(node.op)) {
      Lowered lowered = find_operator(node.op)->lower({node, inputs, bytes_});
      outputs = std::move(lowered.outputs);
      for (RecordedLaunch& launch : lowered.launches) {
        add(inputs, std::move(launch));
      }
      const bool bias = (node.op == "Gemm" || node.op == "Conv") && inputs.size() > 2;
      if (bias && !outputs.empty()) {
        add_step(node, inputs, outputs[0]);
      }
    } else {
      outputs = infer_outputs(node, inputs);
      for (Value& value : outputs) {
        inherit_loss(node, inputs, value);
      }
      add_step(node, inputs, outputs[0]);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      set(node, i, std::move(outputs[i]));
    }
  }

  /// Those of branches, loops and functions; false where `node` is none.
  bool visit_inner(const Node& node, const Inputs& inputs) {
    constexpr int kMaxDepth = 64;
    const auto function = functions_.find(node.domain + "::" + node.op);
    const bool inner = node.op == "If" || node.op == "Loop" || node.op == "Scan";
    if (!inner && function == functions_.end()) {
      return false;
    }
    if (depth_ == kMaxDepth) {
      io::refuse("{}: functions, branches and loops are nested deeper than {} levels", file_, kMaxDepth);
    }
    ++depth_;
    if (function != functions_.end()) {
      visit_function(node, *function->second, inputs);
    } else if (node.op == "If") {
      visit_branch(node, inputs);
    } else {
      visit_loop(node, inputs);
    }
    --depth_;
    return true;
  }

  void visit_branch(const Node& node, const Inputs& inputs) {
    const Graph* taken = graph_of(node, "then_branch");
    const Graph* other = graph_of(node, "else_branch");
    const auto condition = only_number(rule::at(inputs, 0));
    const auto gemms_in = [this](const Graph* graph) {
      std::int64_t gemms = 0;
      if (graph != nullptr) {
        each_gemm(*graph, [&gemms](const Node&) { ++gemms; });
      }
      return gemms;
    };
    const std::int64_t in_then = gemms_in(taken), in_else = gemms_in(other);
    const bool take_else = condition ? *condition == 0 : in_else > in_then;
    if (take_else) {
      std::swap(taken, other);
    }
    if (!condition && in_then + in_else > 0) {
      notes.push_back(
          fmt::format("the condition of If '{}' is not in the model: its {} branch is taken, which has {} GEMM "
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

  /// A Loop has (times, whether to go on, states ..), a Scan (states .., tensors that it takes
  /// apart).
  void visit_loop(const Node& node, const Inputs& inputs) {
    const Graph* const body = graph_of(node, "body");
    const bool scan = node.op == "Scan";
    const std::int64_t scanned = scan ? node.integer("num_scan_inputs", 0) : 0;
    if (body == nullptr || (scan && scanned < 1) || scanned > static_cast<std::int64_t>(inputs.size())) {
      return;
    }
    const std::size_t first = scan ? 0 : 2;
    const std::size_t states = std::max(inputs.size(), first) - first - static_cast<std::size_t>(scanned);
    std::int64_t times = 0;
    Inputs given(first);
    if (!scan) {
      const double most = only_number(rule::at(inputs, 0)).value_or(0);
      const bool counted = most >= 1 && most <= static_cast<double>(kMaxExtent);
      times = counted ? static_cast<std::int64_t>(most) : 0;
      given[0].dims = given[1].dims = Dims{};
      given[0].type = Type::kInt64;
    }
    for (std::size_t i = first; i < inputs.size(); ++i) {
      std::optional<Dims>& dims = given.emplace_back(carried(inputs[i])).dims;
      if (scan && i >= states && dims) {
        if (const auto axis = scanned_axis(node, "scan_input_axes", i - states, dims->size())) {
          times = (*dims)[static_cast<std::size_t>(*axis)];
          dims->erase(dims->begin() + *axis);
        } else {
          dims.reset();
        }
      }
    }
    visit_body(node, *body, times, given);
    const std::size_t before = scan ? 0 : 1;  // of a Loop: whether to go on
    for (std::size_t i = before; i < body->outputs.size(); ++i) {
      Value value = carried(value_of(body->outputs[i]));
      if (i - before >= states && value.dims) {  // gathered over the iterations
        Dims dims = *value.dims;
        const auto axis = scanned_axis(node, "scan_output_axes", i - before - states, dims.size() + 1);
        if (axis && times > 0) {
          dims.insert(dims.begin() + *axis, times);
        }
        value = rule::with_dims(value, axis && times > 0 ? std::optional(dims) : std::nullopt);
      }
      inherit_loss(node, {}, value);
      set(node, i - before, std::move(value));
    }
  }

  /// A body that runs `times`, 0 where that is not known. `given` are its inputs.
  void visit_body(const Node& node, const Graph& body, std::int64_t times, const Inputs& given) {
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

  void visit_function(const Node& node, const Function& function, const Inputs& inputs) {
    std::unordered_map<std::string, Value> inside;
    for (std::size_t i = 0; i < function.inputs.size() && i < inputs.size(); ++i) {
      inside[function.inputs[i]] = inputs[i];
    }
    std::swap(values_, inside);
    std::unordered_map<std::string, const Input*> outer_stated;
    std::swap(stated_, outer_stated);
    const std::string outer_prefix = std::exchange(prefix_, prefix_ + node.label() + "/");
    for (const Node& inner : function.nodes) {
      const bool refers =
          std::ranges::any_of(inner.attributes, [](const auto& row) { return !row.second.refers_to.empty(); });
      if (refers) {
        visit(instantiate(inner, node, function));
      } else {
        visit(inner);
      }
    }
    std::vector<Value> outputs;
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

  /// What the branches or the body of `node` launch is not taken.
  void leave_inner(const Graph& graph, const std::string& reason) {
    if (repeats_ == 0) {
      return;  // said where the loop around begins
    }
    each_gemm(graph, [&](const Node& inner) {
      RecordedLaunch launch;
      launch.op.name = inner.label();
      launch.reason = reason;
      launches.add(std::move(launch), file_);
    });
  }

  /// Shows `take` the operators of `graph` that launch GEMMs, those inside of others too.
  void each_gemm(const Graph& graph, const std::function<void(const Node&)>& take) {
    for (const Node& node : graph.nodes) {
      count_visits(node);
      if (launches_gemms(node.op)) {
        take(node);
      }
      for (const auto& [key, attribute] : node.attributes) {
        for (const auto& inner : attribute.graphs) {
          each_gemm(*inner, take);
        }
      }
    }
  }

  /// Throws InputError beyond a limit: functions, branches and loops multiply what is in a file.
  void count_visits(std::size_t visits) {
    constexpr std::size_t kMost = std::size_t{1} << 22;
    if (visits > kMost - visits_) {
      io::refuse("{}: its functions and branches lead to more than {} operators and values", file_, kMost);
    }
    visits_ += visits;
  }

  void count_visits(const Node& node) { count_visits(1 + node.inputs.size() + node.outputs.size()); }

  Value value_of(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? Value{} : found->second;
  }

  void set(const Node& node, std::size_t output, Value value) {
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

  void add_step(const Node& node, const Inputs& inputs, const Value& output) {
    if (repeats_ == 0) {
      return;  // leave_inner() has said so
    }
    if (std::optional<Step> step = step_of(node, inputs, output)) {
      step->after = launches.taken();
      step->count = repeats_;
      steps.push_back(std::move(*step));
    }
  }

  void add(const Inputs& inputs, RecordedLaunch launch) {
    if (repeats_ == 0) {
      return;  // leave_inner() has said so
    }
    const bool empty = std::ranges::any_of(inputs, [](const Value& input) {
      return input.dims && std::find(input.dims->begin(), input.dims->end(), 0) != input.dims->end();
    });
    const base::GemmShape& shape = launch.op.shape;
    if (launch.reason.empty() && empty && (shape.m == 0 || shape.n == 0 || shape.k == 0)) {
      launch.reason = "an operand is empty";
    }
    launch.op.name = prefix_ + launch.op.name;
    launch.op.count = extent_product({launch.op.count, repeats_});
    const std::string place = file_ + ": " + io::printable(launch.op.name);
    launches.add(std::move(launch), place);
  }

  const ImportOptions& options_;
  const std::string& file_;
  const std::shared_ptr<const ModelBytes> bytes_;
  std::size_t visits_ = 0;
  std::unordered_map<std::string, const Function*> functions_;  ///< by domain and name
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, const Input*> stated_;
  std::string prefix_;        ///< of names inside a function
  std::int64_t repeats_ = 1;  ///< of the loops around
  int depth_ = 0;
};

bool recognises(const Head& of_file) {
  const std::string_view head = of_file.text;
  // ir_version, which is field 1, and then a field that a model begins with.
  constexpr std::string_view kNext = "\x12\x1A\x22\x28\x2A\x32\x3A\x42";
  constexpr char kMostVersions = 32;
  return head.size() > 3 && head[0] == '\x08' && head[1] > 0 && head[1] < kMostVersions &&
         kNext.find(head[2]) != std::string_view::npos;
}

void read(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = std::size_t{2} << 30;  // of protobuf
  const auto bytes = std::make_shared<ModelBytes>(input.rest(kMaxBytes), input.path());
  const Model model = bytes->parse(input.name());
  Walker walker(model, options, input.name(), bytes);
  recording.workload.vectors = vector_operations(walker.steps);
  recording.workload.inputs = walker.inputs_at_once;
  std::vector<std::string>& notes = recording.account.notes;
  notes.emplace_back(kTf32Note);
  notes.emplace_back("A is the operand that the model holds as a weight; of two activations it is the second");
  recording.account.add_notes(walker.notes);
  if (!bytes->absent().empty()) {
    notes.push_back(fmt::format("weights in {} are not there, so that their values are generated",
                                io::printable(*bytes->absent().begin())));
  }
  std::move(walker.launches).move_to(recording, input.name());
  const auto few_bits = std::ranges::count_if(recording.workload.operations,
                                              [](const Operation& op) { return op.storage.weight.has_value(); });
  if (few_bits > 0) {
    notes.push_back(
        fmt::format("weights of 4 or 8 bits in {} operations are dequantised in registers to f16 or bf16: kernels of "
                    "such weights have no TF32",
                    few_bits));
  }
  recording.account.add_notes(mark_sparse_weights(recording.workload.operations));
}

}  // namespace

const Reader kModel{"ONNX model", recognises, read, true};

}  // namespace sptc::workload::onnx
