// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/layer.h"
#include "sim/workload/onnx/model.h"

#include <cstdint>
#include <string>
#include <utility>
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

/// The weights of MatMul, Gemm and Conv, and of operators that unpack theirs, in the order of the nodes, each once:
/// also those behind QuantizeLinear, DequantizeLinear, Cast, Identity, Transpose and what joins or cuts no axes but
/// those of extent 1.
std::vector<OnnxLayer> onnx_layers(const workload::onnx::Graph& graph);

/// Tensors that must have their channels in one order: the rows of the producers, with biases, scales and filters of
/// single channels, and k of the consumers.
struct ChannelGroup {
  std::vector<std::string> producers, consumers;
};

/// The groups of a graph between MatMul, Gemm and convolutions, through operations on single elements, batch
/// normalisation, pools and depthwise convolutions. Nothing else sees the channels: no other node, no output of the
/// graph, and no tensor is used twice.
std::vector<ChannelGroup> onnx_channel_groups(const workload::onnx::Graph& graph);

/// The initializers and the constants of a graph, by their names.
std::vector<std::pair<std::string, const workload::onnx::Tensor*>> onnx_constants(const workload::onnx::Graph& graph);

}  // namespace sptc::prune
