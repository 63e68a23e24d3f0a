// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/layer.h"
#include "sim/workload/onnx/model.h"

#include <string>
#include <vector>

namespace sptc::prune {

/// An initializer or a constant that a matrix product or a convolution has as its weight.
struct OnnxLayer {
  std::string initializer;
  LayerAxes axes;                  ///< of the initializer: k is the first of [k, rows] of MatMul
  std::int64_t rows = 0, k = 0;    ///< as the node has them
  std::vector<std::string> nodes;  ///< that have it as their weight, by onnx::Node::label()
  std::string obstacle;            ///< why it cannot be pruned; empty: nothing stands against it
};

/// The weights of MatMul, Gemm and Conv, and of operators that unpack theirs, in the order of the
/// nodes, each once: also those behind QuantizeLinear, DequantizeLinear, Cast, Identity, Transpose
/// and what joins or cuts no axes but those of extent 1.
std::vector<OnnxLayer> onnx_layers(const workload::onnx::Graph& graph);

}  // namespace sptc::prune
