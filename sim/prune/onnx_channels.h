// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/model.h"

#include <string>
#include <vector>

namespace sptc::prune {

/// Tensors that must have their channels in one order: the rows of the producers, with biases,
/// scales and filters of single channels, and k of the consumers.
struct ChannelGroup {
  std::vector<std::string> producers, consumers;
};

/// The groups of a graph between MatMul, Gemm and convolutions, through operations on single
/// elements, batch normalisation, pools and depthwise convolutions. Nothing else sees the channels:
/// no other node, no output of the graph, and no tensor is used twice.
std::vector<ChannelGroup> onnx_channel_groups(const workload::onnx::Graph& graph);

}  // namespace sptc::prune
