// SPDX-License-Identifier: Apache-2.0
//
// What an ONNX graph computes beside GEMMs and convolutions.
#pragma once

#include "sim/workload/onnx_model.h"
#include "sim/workload/onnx_shapes.h"
#include "sim/workload/vector_operation.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::workload {

/// An operator as it was met: its node, what is known of its operands and its first output, and how
/// many GEMMs came before it.
struct OnnxStep {
  const OnnxNode* node = nullptr;
  std::vector<OnnxValue> inputs;
  OnnxValue output;
  std::size_t after = 0;
};

/// The vector operations of `steps`. Layer normalisation, GELU and SiLU that were exported as their
/// formulas are one each. What computes shapes or weights, or only renames axes, is none.
std::vector<VectorOperation> vector_operations(const std::vector<OnnxStep>& steps);

}  // namespace sptc::workload
