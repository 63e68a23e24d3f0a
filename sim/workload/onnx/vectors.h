// SPDX-License-Identifier: Apache-2.0
//
// What an ONNX graph computes beside GEMMs and convolutions.
#pragma once

#include "sim/workload/onnx/model.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/vector_operation.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::workload::onnx {

/// An operator as it was met: how many GEMMs came before it, and how often it runs.
struct Step {
  std::string op, name;
  std::optional<VectorKind> kind;   ///< by itself; nothing: it is only a part of formulas
  std::int64_t elements = 0;        ///< of its first output; 0: too many, or none
  std::int64_t columns = 0;         ///< of its first output
  std::int64_t input_elements = 0;  ///< of its first operand
  std::size_t after = 0;
  std::int64_t count = 1;
};

/// `node` with these operands and this first output; nothing where it computes shapes or weights,
/// or only renames axes.
std::optional<Step> step_of(const Node& node, const std::vector<Value>& inputs,
                            const Value& output);

/// The vector operations of `steps`. Layer normalisation, GELU and SiLU that were exported as their
/// formulas are one each.
std::vector<VectorOperation> vector_operations(std::span<const Step> steps);

}  // namespace sptc::workload::onnx
