// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/operators.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Nodes of ONNX with their inputs, and what is expected of their first output.
namespace sptc::workload::onnx {

using Attributes = std::map<std::string, Attribute>;
using Inputs = std::vector<Value>;
using Reals = Numbers;

inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kBeyond = std::int64_t{1} << 31;  // of an extent of that or more

/// A value of these extents, of which no element is known.
inline Value sized(Dims dims, Type type = Type::kFloat) {
  Value value;
  value.dims = std::move(dims);
  value.type = type;
  return value;
}
/// One axis of integers, or `dims` of them.
inline Value whole(const Dims& elements, const std::optional<Dims>& dims = std::nullopt) {
  Value value = sized(dims.value_or(Dims{static_cast<std::int64_t>(elements.size())}), Type::kInt64);
  value.numbers.emplace(elements.begin(), elements.end());
  return value;
}
inline Value scalar(std::int64_t element) {
  return whole({element}, Dims{});
}
inline Value real(const Reals& elements) {
  Value value = sized({static_cast<std::int64_t>(elements.size())});
  value.numbers = elements;
  return value;
}
inline Attribute number(std::int64_t integer) {
  Attribute attribute;
  attribute.integer = integer;
  return attribute;
}
inline Attribute word(const std::string& text) {
  Attribute attribute;
  attribute.text = text;
  return attribute;
}
inline Attribute list(const Dims& integers) {
  Attribute attribute;
  attribute.integers = integers;
  return attribute;
}
inline Attribute tensor(Type type, const std::optional<Dims>& integers, const Reals& reals = {}) {
  Attribute attribute;
  attribute.tensor.emplace();
  attribute.tensor->type = type;
  attribute.tensor->dims = {1};
  if (integers) {
    attribute.tensor->numbers.emplace(integers->begin(), integers->end());
  } else if (!reals.empty()) {
    attribute.tensor->numbers = reals;
  }
  return attribute;
}

inline Node node_of(const std::string& op, const Attributes& attributes) {
  Node node;
  node.op = op;
  node.attributes = attributes;
  return node;
}
inline Value output_of(const std::string& op, const Attributes& attributes, const Inputs& inputs) {
  return infer_outputs(node_of(op, attributes), inputs).at(0);
}

struct Case {
  std::string op;
  Attributes attributes;
  Inputs inputs;
  std::optional<Dims> expected{};
};
inline void expect_dims(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    EXPECT_EQ(output_of(one.op, one.attributes, one.inputs).dims, one.expected) << "case " << i << ", " << one.op;
  }
}
/// The integers of the output, be it of any extents.
inline void expect_integers(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    EXPECT_EQ(integers_of(output_of(one.op, one.attributes, one.inputs)), one.expected)
        << "case " << i << ", " << one.op;
  }
}

inline const Value kNone;                  // nothing is known of it
inline const Value kX = sized({2, 3, 4});  // of which the cases take parts
inline const Value kSix = whole({1, 2, 3, 4, 5, 6}, Dims{2, 3});

}  // namespace sptc::workload::onnx
