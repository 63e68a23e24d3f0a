// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx_lowering.h"
#include "sim/workload/onnx_vectors.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/recording.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sptc::workload {

/// Goes through a model in the order of its nodes, with branches, loops and functions, and gathers
/// what it launches.
class OnnxWalker {
 public:
  /// All of them stay. Throws InputError where dimensions are open.
  OnnxWalker(const OnnxModel& model, const ImportOptions& options, const std::string& file,
             std::shared_ptr<const OnnxBytes> bytes);

  LaunchList take() && { return std::move(list_); }
  const std::vector<OnnxStep>& steps() const { return steps_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Values = std::vector<OnnxValue>;

  void bind_inputs(const OnnxGraph& graph);
  OnnxDims input_dims(const OnnxInput& input, OpenDims& open) const;
  void refuse_unknown_inputs(const OnnxGraph& graph) const;

  void visit_graph(const OnnxGraph& graph);
  void visit(const OnnxNode& node);
  /// Those of branches, loops and functions; false where `node` is none.
  bool visit_inner(const OnnxNode& node, const Values& inputs);
  void visit_branch(const OnnxNode& node, const Values& inputs);
  void visit_loop(const OnnxNode& node, const Values& inputs);
  void visit_scan(const OnnxNode& node, const Values& inputs);
  void visit_function(const OnnxNode& node, const OnnxFunction& function, const Values& inputs);
  /// A body that runs `times`, 0 where that is not known. `given` are its inputs.
  void visit_body(const OnnxNode& node, const OnnxGraph& body, std::int64_t times,
                  const Values& given);
  /// What the branches or the body of `node` launch is not taken.
  void leave_inner(const OnnxGraph& graph, const std::string& reason);

  OnnxValue value_of(const std::string& name) const;
  void set(const OnnxNode& node, std::size_t output, OnnxValue value);
  void add(const Values& inputs, RecordedLaunch launch);
  void add_step(const OnnxNode& node, const Values& inputs, const OnnxValue& output);

  const ImportOptions& options_;
  const std::string& file_;
  const std::shared_ptr<const OnnxBytes> bytes_;
  std::unordered_map<std::string, const OnnxFunction*> functions_;  ///< by domain and name
  std::unordered_map<std::string, OnnxValue> values_;
  std::unordered_map<std::string, const OnnxInput*> stated_;
  std::deque<OnnxNode> instantiated_;  ///< nodes of functions with the attributes of a call
  std::string prefix_;                 ///< of names inside a function
  std::int64_t repeats_ = 1;           ///< of the loops around
  int depth_ = 0;
  std::int64_t visited_ = 0;
  LaunchList list_;
  std::vector<OnnxStep> steps_;  ///< beside GEMMs and convolutions
  std::vector<std::string> notes_;
};

}  // namespace sptc::workload
