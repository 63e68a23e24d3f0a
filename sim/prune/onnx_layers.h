// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/model.h"

#include <string>
#include <vector>

namespace sptc::prune {

/// An initializer or a constant that a matrix product or a convolution has as its weight.
struct OnnxLayer {
  std::string initializer;
  bool k_first = false;            ///< [k, rows], as MatMul has it
  std::vector<std::string> nodes;  ///< that have it as their weight, by onnx::Node::label()
};

/// The weights of MatMul, Gemm and Conv, in the order of the nodes, each once: also those behind
/// DequantizeLinear, Cast, Identity and a transposition of two axes. One that is used both ways is
/// left out.
std::vector<OnnxLayer> onnx_layers(const workload::onnx::Graph& graph);

}  // namespace sptc::prune
