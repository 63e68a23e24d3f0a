// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

// Writes small ONNX models: protobuf fields by their numbers in onnx/onnx.proto.
namespace sptc::onnx {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  return bytes + static_cast<char>(value);
}

inline std::string number(std::uint32_t field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string bytes(std::uint32_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

inline std::string ints(const std::string& name, std::initializer_list<std::int64_t> values) {
  std::string attribute = bytes(1, name);
  for (const std::int64_t value : values) {
    attribute += number(8, value);
  }
  return bytes(5, attribute);
}

inline std::string integer(const std::string& name, std::int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value));
}

inline std::string tensor(const std::string& name, std::int64_t type, std::initializer_list<std::int64_t> dims,
                          const std::string& data = "") {
  std::string result;
  for (const std::int64_t extent : dims) {
    result += number(1, extent);
  }
  return result + number(2, type) + bytes(8, name) + data;
}

/// An initializer of a graph: a weight without data.
inline std::string weight(const std::string& name, std::int64_t type, std::initializer_list<std::int64_t> dims) {
  return bytes(5, tensor(name, type, dims));
}

/// An initializer of integers.
inline std::string shape(const std::string& name, std::initializer_list<std::int64_t> values) {
  std::string data;
  for (const std::int64_t value : values) {
    data += number(7, value);
  }
  return bytes(5, tensor(name, 7, {static_cast<std::int64_t>(values.size())}, data));
}

/// An input of a graph; an extent of 0 is open, and `open` its name.
inline std::string input(const std::string& name, std::int64_t type, std::initializer_list<std::int64_t> dims,
                         const std::string& open = "") {
  std::string extents;
  for (const std::int64_t extent : dims) {
    extents += bytes(1, extent > 0 ? number(1, extent) : open.empty() ? "" : bytes(2, open));
  }
  return bytes(11, bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, extents))));
}

inline std::string node(const std::string& op, std::initializer_list<std::string> inputs, const std::string& output,
                        const std::string& attributes = "") {
  std::string result;
  for (const std::string& name : inputs) {
    result += bytes(1, name);
  }
  return bytes(1, result + bytes(2, output) + bytes(3, output) + bytes(4, op) + attributes);
}

/// A node of several outputs.
inline std::string node_of(const std::string& op, std::initializer_list<std::string> inputs,
                           std::initializer_list<std::string> outputs, const std::string& attributes = "",
                           const std::string& domain = "") {
  std::string result;
  for (const std::string& name : inputs) {
    result += bytes(1, name);
  }
  for (const std::string& name : outputs) {
    result += bytes(2, name);
  }
  return bytes(1, result + bytes(4, op) + attributes + bytes(7, domain));
}

/// An attribute that is a graph, and the output of a graph.
inline std::string graph(const std::string& name, const std::string& value) {
  return bytes(5, bytes(1, name) + bytes(6, value));
}
inline std::string output(const std::string& name) {
  return bytes(12, bytes(1, name));
}

inline std::string model(const std::string& graph) {
  return number(1, 8) + bytes(2, "test") + bytes(7, graph);
}

/// A weight [k, rows] of f32 values, none of them zero, and its product with `input`.
inline std::string weighted_product(const std::string& name, std::int64_t k, std::int64_t rows,
                                    const std::string& input, const std::string& output) {
  constexpr std::int64_t kFloat = 1;
  std::string values(static_cast<std::size_t>(4 * k * rows), '\0');
  for (std::size_t i = 0; i < values.size() / 4; ++i) {
    const auto value = static_cast<float>(1 + (i * 2654435761U >> 7) % 97);
    std::memcpy(values.data() + 4 * i, &value, 4);
  }
  return bytes(5, tensor(name, kFloat, {k, rows}, bytes(9, values))) + node("MatMul", {input, name}, output);
}

}  // namespace sptc::onnx
