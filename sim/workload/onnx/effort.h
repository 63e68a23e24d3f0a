// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/shapes.h"

#include <cstddef>
#include <string>

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

}  // namespace sptc::workload::onnx
