// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/workload/onnx/walker.h"

#include <fmt/format.h>

namespace sptc::workload::onnx {
namespace {

std::size_t effort_of(const Tensor& tensor) {
  return 1 + (tensor.integers ? tensor.integers->size() : 0) + tensor.reals.size();
}

}  // namespace

void Effort::add(std::size_t units) {
  constexpr std::size_t kMost = std::size_t{1} << 26;  // 2^20 operators, or 512 MiB of integers
  if (units > kMost - spent_) {
    throw base::InputError(fmt::format(
        "{}: its operators, functions, branches, constants and names take more than the {} "
        "steps in which a model is followed",
        file_, kMost));
  }
  spent_ += units;
}

std::size_t effort_of(const Node& node) {
  constexpr std::size_t kOperator = 64;
  std::size_t units = kOperator + effort_of(node.label()) + effort_of(node.op) +
                      effort_of(node.domain) + node.inputs.size() + node.outputs.size();
  for (const auto& [key, attribute] : node.attributes) {
    units += 1 + effort_of(key) + effort_of(attribute.text) + attribute.integers.size() +
             attribute.reals.size() + (attribute.tensor ? effort_of(*attribute.tensor) : 0);
  }
  return units;
}

std::size_t effort_of(const Value& value) {
  return 1 + (value.integers ? value.integers->size() : 0) + value.reals.size() +
         effort_of(value.lost) + (value.origin ? value.origin->zero_points.size() : 0);
}

std::size_t effort_of(const std::string& text) {
  return text.size() / 8;
}

std::size_t effort_of(const Graph& graph) {
  std::size_t units = graph.values.size();
  for (const Tensor& tensor : graph.initializers) {
    units += effort_of(tensor);
  }
  return units;
}

}  // namespace sptc::workload::onnx
