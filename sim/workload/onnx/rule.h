// SPDX-License-Identifier: Apache-2.0
//
// What the rules of shape inference have in common, and what a model computes of its shapes:
// numbers that are known before it runs.
#pragma once

#include "sim/workload/onnx/shapes.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sptc::workload::onnx {

/// The first output of a node from its inputs.
using Rule = Value (*)(const Node&, const std::vector<Value>&);
using Rules = std::unordered_map<std::string_view, Rule>;

/// The rules of operators that arrange elements anew: Reshape, Concat, Slice, ..
void add_arrangement_rules(Rules& rules);
/// Those whose extents or type are values: Constant, Range, Cast, ..
void add_value_rules(Rules& rules);

namespace rule {

using Inputs = std::vector<Value>;

inline constexpr std::size_t kMaxIntegers = 4096;

inline std::int64_t size(const Dims& dims) {
  return static_cast<std::int64_t>(dims.size());
}

inline const Value& at(const Inputs& inputs, std::size_t index) {
  static const Value kNone;
  return index < inputs.size() ? inputs[index] : kNone;
}

/// How many elements extents have; exact up to 2^53. Nothing where one is beyond what is kept of
/// it.
inline std::optional<double> elements_of(const Dims& dims) {
  double elements = 1;
  for (const std::int64_t extent : dims) {
    if (extent > kMaxExtent) {
      return std::nullopt;
    }
    elements *= static_cast<double>(extent);
  }
  return elements;
}

/// The product of extents, as far as an extent is kept: of more, kMaxExtent + 1.
inline std::int64_t joined_extent(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kBeyond = kMaxExtent + 1;
  a = std::clamp<std::int64_t>(a, 0, kBeyond);
  b = std::clamp<std::int64_t>(b, 0, kBeyond);
  return std::min(a * b, kBeyond);
}

/// An axis counted from the front; nothing where there is no such axis.
inline std::optional<std::size_t> axis_of(std::int64_t axis, std::int64_t rank) {
  axis += axis < 0 ? rank : 0;
  return axis < 0 || axis >= rank ? std::nullopt : std::optional(static_cast<std::size_t>(axis));
}

/// Integers of an input or, in older opsets, an attribute.
inline std::optional<Dims> parameter(const Node& node, const Inputs& inputs, std::size_t index,
                                     const char* attribute) {
  if (at(inputs, index).integers) {
    return at(inputs, index).integers;
  }
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? std::nullopt : std::optional(found->second.integers);
}

/// What Slice takes along one axis.
struct Slice {
  std::int64_t begin = 0, count = 0, step = 1;
};
/// Of all axes of the first input, whose extents are known; nothing where they are not constants.
std::optional<std::vector<Slice>> slices_of(const Node& node, const Inputs& inputs);

/// All inputs, which are of one kind, one behind the other.
Value concat(const Node& node, const Inputs& inputs);

/// `like` with other extents, of at most kMaxRank axes, and without its integers.
Value with_dims(const Value& like, const std::optional<Dims>& dims);

}  // namespace rule

/// The elements of `value`, in order, where all are known.
std::optional<std::vector<double>> numbers_of(const Value& value);

/// Gives `output`, whose extents are known, its elements where `node` computes them from known
/// ones.
void fold(const Node& node, const rule::Inputs& inputs, Value& output);

/// The same for a part of `whole` from `begin` on along `axis`: `output` has its extents.
void fold_part(const Value& whole, std::size_t axis, std::int64_t begin, Value& output);

}  // namespace sptc::workload::onnx
