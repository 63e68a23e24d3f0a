// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::onnx {

/// The tensor of the model that a value is, or that it is the transpose of.
struct Origin {
  std::string_view raw;
  Type type = Type::kNone;
  Dims dims;
  bool transposed = false;
  /// What stands for 0 in a quantized tensor: one, or one for each place along `zero_axis`. None:
  /// not known, which of signed elements means 0.
  std::vector<float> zero_points{};
  std::size_t zero_axis = 0;  ///< of `dims`
};

/// What is known of a value of an ONNX graph.
struct Value {
  std::optional<Dims> dims;        ///< nothing: unknown
  std::optional<Numbers> numbers;  ///< its elements, where the model computes with shapes
  Type type = Type::kNone;
  bool constant = false;         ///< a weight, or made from weights alone
  bool quantized = false;        ///< comes through DequantizeLinear; `type` is that before it
  std::string lost;              ///< where the extents are unknown: why, a clause
  std::optional<Origin> origin;  ///< of a weight whose elements are known
  std::int64_t scale_block = 0;  ///< elements of K that share a scale; 0: a row or all
};

bool is_real(Type type);

/// A constant of the model.
Value constant_of(const Tensor& tensor);

/// The only element of `value`; nothing where it is not known, or one of several.
std::optional<double> only_number(const Value& value);
/// The elements of a value of integers; nothing where they are not known.
std::optional<Dims> integers_of(const Value& value);

/// Bounds the extents of `value`, of which more than kMaxRank are unknown, and rounds its elements
/// to those of its type. It has none where one is not a number, they are not as many as its extents
/// say, or too many.
void settle(Value& value);

/// Extents along the axes of a window: outputs of convolutions and pools. Nothing where the window
/// does not fit.
struct Window {
  Dims kernel, stride, dilation, pads, output;
};
std::optional<Window> window_of(const Node& node, const Dims& input, const Dims& kernel);

/// The extents to which `a` and `b` broadcast; nothing where they do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);

/// `dims`, none of them negative or much beyond what a GEMM may have.
Dims bounded(Dims dims);

/// The origin of input `quantized` of `node` with the zero points of input `zero`, which stand
/// along `axis` where there are several. Nothing where they are not known.
std::optional<Origin> quantized_origin(const Node& node, const std::vector<Value>& inputs,
                                       std::size_t quantized, std::size_t zero, std::int64_t axis);

/// The values of the outputs of `node`, as far as they follow from its inputs.
std::vector<Value> infer_outputs(const Node& node, const std::vector<Value>& inputs);

}  // namespace sptc::workload::onnx
