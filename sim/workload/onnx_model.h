// SPDX-License-Identifier: Apache-2.0
//
// What this program needs of an ONNX model, out of its protobuf wire format (onnx/onnx.proto). The
// bytes of large tensors stay where they are, and files of external data are never opened.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload {

using OnnxDims = std::vector<std::int64_t>;

/// TensorProto.DataType, those that matter here.
enum class OnnxType : std::int32_t {
  kNone = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16,
  kE4m3 = 17,
  kE5m2 = 19
};

struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::kNone;
  OnnxDims dims;
  std::optional<OnnxDims> integers;  ///< of a small tensor of int32 or int64
  std::vector<float> reals;          ///< of a small tensor of float
  std::string_view raw;  ///< its elements in order, little-endian, inside the model; may be empty
};

struct OnnxGraph;

struct OnnxAttribute {
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  OnnxDims integers;
  std::optional<OnnxTensor> tensor;
  std::vector<OnnxGraph> graphs;
};

struct OnnxNode {
  std::string op, name, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;

  std::int64_t integer(const std::string& key, std::int64_t absent) const;
  OnnxDims integers(const std::string& key, OnnxDims absent) const;
};

/// An input of the graph. An extent that the model leaves open is -1, and has a name or "".
struct OnnxInput {
  std::string name;
  OnnxType type = OnnxType::kNone;
  OnnxDims dims;
  std::vector<std::string> dim_names;
  bool has_shape = false;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxInput> inputs, values;  ///< values: what the model says of inner ones
  std::vector<std::string> outputs;
};

/// Parses `bytes`. Throws InputError "file: byte N: ...".
OnnxGraph parse_onnx(std::string_view bytes, const std::string& file);

}  // namespace sptc::workload
