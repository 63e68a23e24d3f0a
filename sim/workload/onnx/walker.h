// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/lowering.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/onnx/vectors.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sptc::workload::onnx {

/// What it takes to follow a model. Functions, branches and large constants multiply what is in its
/// file, so that time and memory need a limit of their own. A unit is about 8 bytes that are copied
/// or kept.
class Effort {
 public:
  /// `file`, which messages name, stays.
  explicit Effort(const std::string& file) : file_(file) {}

  /// Throws InputError where the sum is beyond the limit.
  void add(std::size_t units);

 private:
  const std::string& file_;
  std::size_t spent_ = 0;
};

/// Units of a visit to `node` without its operands, and of a copy of it: graphs are not copied.
std::size_t effort_of(const Node& node);

/// Units of a copy of `value`.
std::size_t effort_of(const Value& value);

/// Units of a name or text.
std::size_t effort_of(const std::string& text);

/// Units of what `graph` says of its values.
std::size_t effort_of(const Graph& graph);

/// Goes through a model in the order of its nodes, with branches, loops and functions, and gathers
/// what it launches.
class Walker {
 public:
  /// All of them stay. Throws InputError where dimensions are open.
  Walker(const Model& model, const ImportOptions& options, const std::string& file,
         std::shared_ptr<const ModelBytes> bytes);

  LaunchList take() && { return std::move(list_); }
  /// That pass through the model at once, by the extents of its inputs; 0: they do not say.
  std::int64_t inputs_at_once() const { return inputs_at_once_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Values = std::vector<Value>;

  void bind_inputs(const Graph& graph);
  Dims input_dims(const Input& input, OpenDims& open) const;
  void refuse_unknown_inputs(const Graph& graph) const;

  void visit_graph(const Graph& graph);
  void visit(const Node& node);
  /// Those of branches, loops and functions; false where `node` is none.
  bool visit_inner(const Node& node, const Values& inputs);
  void visit_branch(const Node& node, const Values& inputs);
  void visit_loop(const Node& node, const Values& inputs);
  void visit_scan(const Node& node, const Values& inputs);
  void visit_function(const Node& node, const Function& function, const Values& inputs);
  /// A body that runs `times`, 0 where that is not known. `given` are its inputs.
  void visit_body(const Node& node, const Graph& body, std::int64_t times, const Values& given);
  /// What the branches or the body of `node` launch is not taken.
  void leave_inner(const Graph& graph, const std::string& reason);

  /// Operators of `graph` that launch GEMMs, those inside of others too.
  std::int64_t gemms_in(const Graph& graph);

  Value value_of(const std::string& name);
  void set(const Node& node, std::size_t output, Value value);
  void add(const Values& inputs, RecordedLaunch launch);
  void add_step(const Node& node, const Values& inputs, const Value& output);

  std::int64_t inputs_at_once_ = 0;
  const ImportOptions& options_;
  const std::string& file_;
  Effort effort_{file_};
  const std::shared_ptr<const ModelBytes> bytes_;
  std::unordered_map<std::string, const Function*> functions_;  ///< by domain and name
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, const Input*> stated_;
  std::string prefix_;        ///< of names inside a function
  std::int64_t repeats_ = 1;  ///< of the loops around
  int depth_ = 0;
  LaunchList list_;
  std::vector<Step> steps_;  ///< beside GEMMs and convolutions
  std::vector<std::string> notes_;
};

}  // namespace sptc::workload::onnx
