// SPDX-License-Identifier: Apache-2.0
//
// What this program needs of an ONNX model, out of its protobuf wire format (onnx/onnx.proto). The
// bytes of large tensors stay where they are.
#pragma once

#include "sim/io/tensor_layout.h"

#include <functional>
#include <memory>
#include <set>

namespace sptc::workload::onnx {

using Dims = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

inline constexpr std::size_t kMaxRank = 16;

/// Elements of a tensor that are kept as numbers: integers, and reals (scales of a Resize,
/// factors).
inline constexpr std::size_t kMaxIntegers = 4096, kMaxReals = 64;

/// TensorProto.DataType, those that matter here.
enum class Type : std::int32_t {
  kNone = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16,
  kE4m3 = 17,
  kE5m2 = 19,
  kUint4 = 21,
  kInt4 = 22,
  kE2m1 = 23
};

struct TypeInfo {
  Type type;
  std::string_view name;     ///< as ONNX calls it
  std::string_view element;  ///< as io::ElementType does; empty: elements of it are not read
  std::string_view product;  ///< of such operands; empty: TF32 or, of quantized ones, INT8
};

/// The row of `type`; null where it does not matter here.
const TypeInfo* find_type(Type type);
/// The name that ONNX has for it: "INT4"; of those that do not matter here "type 23".
std::string name(Type type);
/// How its elements are stored; null: they are not read.
const io::ElementType* element_of(Type type);
/// Bytes of a tensor; nothing where its elements are not read, none, or too many.
std::optional<std::uint64_t> bytes_of(Type type, const Dims& dims);

/// Where the elements of a tensor are outside of the model.
struct External {
  std::string location;  ///< a path from the directory of the model
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> bytes;  ///< nothing: up to the end of the file
};

struct Tensor {
  std::string name;
  Type type = Type::kNone;
  Dims dims;
  std::optional<Numbers> numbers;  ///< of a small tensor of integers or float
  std::string_view raw;            ///< its elements in order, little-endian, inside the model; may be empty
  std::optional<External> external;
};

/// Gives `tensor` its elements: little-endian, which stay where they are.
void set_elements(Tensor& tensor, std::string_view raw);

struct Graph;

struct Attribute {
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  Dims integers;
  Numbers reals;
  std::optional<Tensor> tensor;
  std::vector<std::shared_ptr<Graph>> graphs;  ///< which copies of the attribute share
  std::string refers_to;                       ///< inside a function: an attribute of its call
};

struct Node {
  std::string op, name, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;

  const Attribute* find(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t absent) const;
  Dims integers(const std::string& key, const Dims& absent) const;
  std::string label() const;
};

/// An input of the graph. An extent that the model leaves open is -1, and has a name or "".
struct Input {
  std::string name;
  Type type = Type::kNone;
  Dims dims;
  std::vector<std::string> dim_names;
  bool has_shape = false;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<Input> inputs, values;  ///< values: what the model says of inner ones
  std::vector<std::string> outputs;
};

/// A function of the model, which its nodes call by domain and name.
struct Function {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<Node> nodes;
  std::map<std::string, Attribute> defaults;  ///< of its attributes
};

struct Model {
  Graph graph;
  std::vector<Function> functions;
};

/// Gives a tensor with external data its elements, or leaves it.
using OpenTensor = std::function<void(Tensor&)>;

/// Parses `bytes`. Throws InputError "file: byte N: ...".
Model parse_onnx(std::string_view bytes, const std::string& file, const OpenTensor& open = {});

/// The bytes of a model and of its files of external data, which weights are read from.
class ModelBytes {
 public:
  /// `path` is the file of the model, or of no file.
  ModelBytes(std::string model, std::filesystem::path path);
  ~ModelBytes();
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  /// Its tensors have their elements. Throws InputError "`name`: ..." for external data outside of
  /// the directory of the model, and beyond a file; those that are not there are absent.
  Model parse(const std::string& name);
  const std::set<std::string>& absent() const { return absent_; }

 private:
  void open(Tensor& tensor, const std::string& name);
  /// Nothing where there is no such file.
  const std::string_view* file(const std::string& location, const std::string& place);

  std::string model_;
  std::filesystem::path path_;
  std::map<std::string, std::string_view> files_;  ///< mapped into memory
  std::set<std::string> absent_;
};

}  // namespace sptc::workload::onnx
