// SPDX-License-Identifier: Apache-2.0
//
// What an ONNX graph computes beside GEMMs and convolutions.
#pragma once

#include "sim/workload/onnx/model.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/vector_operation.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::workload::onnx {

/// An operator as it was met: its node, what is known of its operands and its first output, how
/// many GEMMs came before it, and how often it runs.
struct Step {
  const Node* node = nullptr;
  std::vector<Value> inputs;
  Value output;
  std::size_t after = 0;
  std::int64_t count = 1;
};

/// The vector operations of `steps`. Layer normalisation, GELU and SiLU that were exported as their
/// formulas are one each. What computes shapes or weights, or only renames axes, is none.
std::vector<VectorOperation> vector_operations(const std::vector<Step>& steps);

}  // namespace sptc::workload::onnx
