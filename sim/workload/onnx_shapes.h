// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx_model.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sptc::workload {

/// The tensor of the model that a value is, or that it is the transpose of.
struct OnnxOrigin {
  std::string_view raw;
  OnnxType type = OnnxType::kNone;
  OnnxDims dims;
  bool transposed = false;
};

/// What is known of a value of an ONNX graph.
struct OnnxValue {
  std::optional<OnnxDims> dims;      ///< nothing: unknown
  std::optional<OnnxDims> integers;  ///< where the model computes with shapes
  std::vector<float> reals;          ///< of a small constant
  OnnxType type = OnnxType::kNone;
  bool constant = false;               ///< a weight, or made from weights alone
  bool quantized = false;              ///< comes through DequantizeLinear; `type` is that before it
  std::string lost;                    ///< where the extents are unknown: why, a clause
  std::optional<OnnxOrigin> origin{};  ///< of a weight whose elements are known
};

/// Extents along the axes of a window: outputs of convolutions and pools. Nothing where the window
/// does not fit.
struct OnnxWindow {
  OnnxDims kernel, stride, dilation, pads, output;
};
std::optional<OnnxWindow> window_of(const OnnxNode& node, const OnnxDims& input,
                                    const OnnxDims& kernel);

/// The extents to which `a` and `b` broadcast; nothing where they do not fit.
std::optional<OnnxDims> broadcast(const OnnxDims& a, const OnnxDims& b);

/// `dims`, none of them negative or much beyond what a GEMM may have.
OnnxDims bounded(OnnxDims dims);

/// The values of the outputs of `node`, as far as they follow from its inputs.
std::vector<OnnxValue> infer_outputs(const OnnxNode& node, const std::vector<OnnxValue>& inputs);

}  // namespace sptc::workload
