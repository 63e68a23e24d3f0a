// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/model.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

namespace sptc::workload::onnx {
namespace {

constexpr std::size_t kMaxSmall = 4096;  ///< elements of a tensor whose values are kept
constexpr int kMaxDepth = 64;            ///< of graphs in attributes

/// One field: a number, or bytes.
struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;  ///< 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  std::uint64_t value = 0;
  std::string_view bytes;

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }

  /// Gives `to` the text, or adds it, where this is field `wanted`.
  void read(std::uint32_t wanted, std::string& to) const {
    if (number == wanted) {
      to = bytes;
    }
  }
  void read(std::uint32_t wanted, std::vector<std::string>& to) const {
    if (number == wanted) {
      to.emplace_back(bytes);
    }
  }
};

/// Goes through the fields of one message.
class Message {
 public:
  Message(std::string_view bytes, std::string_view whole, const std::string& file)
      : rest_(bytes), whole_(whole), file_(file) {}

  bool next(Field& field) {
    if (rest_.empty()) {
      return false;
    }
    const std::uint64_t key = varint();
    field = {static_cast<std::uint32_t>(key >> 3), static_cast<std::uint32_t>(key & 7), 0, {}};
    switch (field.wire) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        fail("a field of an unknown kind");
    }
    return true;
  }

  Message inside(const Field& field) const { return {field.bytes, whole_, file_}; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      value |= static_cast<std::uint64_t>(byte[0] & 0x7F) << shift;
      if ((byte[0] & 0x80) == 0) {
        return value;
      }
    }
    fail("an integer of more than ten bytes");
  }
  bool empty() const { return rest_.empty(); }

  [[noreturn]] void fail(const char* problem) const {
    refuse(fmt::format("{}, so this is no whole ONNX model", problem));
  }
  void require_rank(const Dims& dims) const {
    if (dims.size() > kMaxRank) {
      refuse(fmt::format("a tensor has more than {} axes", kMaxRank));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw base::InputError(
        fmt::format("{}: byte {}: {}", file_, rest_.data() - whole_.data(), problem));
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      fail("the data end early");
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }

  std::string_view rest_, whole_;
  const std::string& file_;
};

/// A repeated integer: packed or one by one.
void add_integers(const Message& message, const Field& field, Dims& to) {
  if (field.wire != 2 && to.size() < kMaxSmall) {
    to.push_back(field.integer());
  }
  if (field.wire != 2) {
    return;
  }
  Message packed = message.inside(field);
  while (!packed.empty() && to.size() < kMaxSmall) {
    to.push_back(static_cast<std::int64_t>(packed.varint()));
  }
}

template <typename Integer>
Dims raw_integers(std::string_view raw) {
  Dims values;
  for (std::size_t at = 0; at + sizeof(Integer) <= raw.size(); at += sizeof(Integer)) {
    Integer value = 0;
    std::memcpy(&value, raw.data() + at, sizeof(Integer));
    values.push_back(value);
  }
  return values;
}

std::vector<float> raw_reals(std::string_view raw) {
  constexpr std::size_t kMaxReals = 64;  // scales of a Resize, factors of an extent
  std::vector<float> values;
  for (std::size_t at = 0;
       raw.size() <= kMaxReals * sizeof(float) && at + sizeof(float) <= raw.size();
       at += sizeof(float)) {
    std::memcpy(&values.emplace_back(), raw.data() + at, sizeof(float));
  }
  return values;
}

/// A repeated float: packed or one by one.
void add_reals(const Field& field, std::vector<float>& to) {
  if (field.wire == 2) {
    to = raw_reals(field.bytes);
  } else if (to.size() < kMaxSmall) {
    to.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
  }
}

/// An entry of TensorProto.external_data: a key and its value.
void read_external(Message message, External& external) {
  std::string key, value;
  Field field;
  while (message.next(field)) {
    (field.number == 1 ? key : value) = field.bytes;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (key == "location") {
    external.location = value;
  } else if ((key == "offset" || key == "length") && !whole) {
    message.fail("the place of external data is no number of bytes");
  } else if (key == "offset") {
    external.offset = number;
  } else if (key == "length") {
    external.bytes = number;
  }
}

Tensor read_tensor(Message message) {
  constexpr std::uint64_t kExternal = 1;
  std::uint64_t place = 0;
  External external;
  Tensor tensor;
  Dims values;
  std::string_view raw, packed;
  Field field;
  while (message.next(field)) {
    field.read(8, tensor.name);
    if (field.number == 1) {
      add_integers(message, field, tensor.dims);
    } else if (field.number == 2) {
      tensor.type = static_cast<Type>(field.value);
    } else if (field.number == 4) {
      packed = field.bytes;
    } else if (field.number == 5 || field.number == 7) {
      add_integers(message, field, values);
    } else if (field.number == 9) {
      raw = field.bytes;
    } else if (field.number == 13) {
      read_external(message.inside(field), external);
    } else if (field.number == 14) {
      place = field.value;
    }
  }
  message.require_rank(tensor.dims);
  if (place == kExternal) {
    tensor.external = std::move(external);
    return tensor;
  }
  if (raw.empty() && tensor.type == Type::kFloat) {
    raw = packed;
  }
  set_elements(tensor, raw);
  const bool integral = tensor.type == Type::kInt64 || tensor.type == Type::kInt32 ||
                        tensor.type == Type::kBool || tensor.type == Type::kUint8 ||
                        tensor.type == Type::kInt8;
  if (integral && raw.empty()) {
    tensor.integers = values;
  }
  return tensor;
}

Graph read_graph(Message message, int depth);

std::pair<std::string, Attribute> read_attribute(Message message, int depth) {
  std::pair<std::string, Attribute> result;
  Attribute& attribute = result.second;
  Field field;
  while (message.next(field)) {
    field.read(1, result.first);
    field.read(4, attribute.text);
    field.read(21, attribute.refers_to);
    if (field.number == 2) {
      attribute.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    } else if (field.number == 3) {
      attribute.integer = field.integer();
    } else if (field.number == 5) {
      attribute.tensor = read_tensor(message.inside(field));
    } else if (field.number == 6 || field.number == 11) {
      attribute.graphs.push_back(
          std::make_shared<Graph>(read_graph(message.inside(field), depth + 1)));
    } else if (field.number == 7) {
      add_reals(field, attribute.reals);
    } else if (field.number == 8) {
      add_integers(message, field, attribute.integers);
    }
  }
  return result;
}

Node read_node(Message message, int depth) {
  Node node;
  Field field;
  while (message.next(field)) {
    field.read(1, node.inputs);
    field.read(2, node.outputs);
    field.read(3, node.name);
    field.read(4, node.op);
    field.read(7, node.domain);
    if (field.number == 5) {
      node.attributes.insert(read_attribute(message.inside(field), depth));
    }
  }
  return node;
}

/// TensorShapeProto.Dimension: a value, a name, or neither.
void read_dimension(Message message, Input& input) {
  std::int64_t value = -1;
  std::string name;
  Field field;
  while (message.next(field)) {
    field.read(2, name);
    value = field.number == 1 ? field.integer() : value;
  }
  input.dims.push_back(value > 0 ? value : -1);
  input.dim_names.push_back(name);
}

/// TypeProto.Tensor: the type of its elements and its shape.
void read_tensor_type(Message message, Input& input) {
  Field field;
  while (message.next(field)) {
    if (field.number == 1) {
      input.type = static_cast<Type>(field.value);
    }
    if (field.number != 2) {
      continue;
    }
    input.has_shape = true;
    Message shape = message.inside(field);
    Field dimension;
    while (shape.next(dimension)) {
      if (dimension.number == 1) {
        read_dimension(shape.inside(dimension), input);
      }
    }
    if (input.dims.size() > kMaxRank) {
      input.has_shape = false;
      input.dims.clear();
      input.dim_names.clear();
    }
  }
}

Input read_value_info(Message message) {
  Input input;
  Field field;
  while (message.next(field)) {
    field.read(1, input.name);
    Message type = message.inside(field);
    Field kind;
    while (field.number == 2 && type.next(kind)) {
      if (kind.number == 1) {
        read_tensor_type(type.inside(kind), input);
      }
    }
  }
  return input;
}

Graph read_graph(Message message, int depth) {
  if (depth > kMaxDepth) {
    message.fail("graphs are nested deeper than 64 levels");
  }
  Graph graph;
  Field field;
  while (message.next(field)) {
    if (field.number == 1) {
      graph.nodes.push_back(read_node(message.inside(field), depth));
    } else if (field.number == 5) {
      graph.initializers.push_back(read_tensor(message.inside(field)));
    } else if (field.number == 11) {
      graph.inputs.push_back(read_value_info(message.inside(field)));
    } else if (field.number == 12) {
      graph.outputs.push_back(read_value_info(message.inside(field)).name);
    } else if (field.number == 13) {
      graph.values.push_back(read_value_info(message.inside(field)));
    }
  }
  return graph;
}

Function read_function(Message message) {
  Function function;
  Field field;
  while (message.next(field)) {
    field.read(1, function.name);
    field.read(4, function.inputs);
    field.read(5, function.outputs);
    field.read(10, function.domain);
    if (field.number == 7) {
      function.nodes.push_back(read_node(message.inside(field), 0));
    } else if (field.number == 11) {
      function.defaults.insert(read_attribute(message.inside(field), 0));
    }
  }
  return function;
}

}  // namespace

std::string name(Type type) {
  constexpr std::pair<Type, std::string_view> kNames[] = {
      {Type::kFloat, "FLOAT"},     {Type::kUint8, "UINT8"},       {Type::kInt8, "INT8"},
      {Type::kUint16, "UINT16"},   {Type::kInt16, "INT16"},       {Type::kInt32, "INT32"},
      {Type::kInt64, "INT64"},     {Type::kBool, "BOOL"},         {Type::kFloat16, "FLOAT16"},
      {Type::kDouble, "DOUBLE"},   {Type::kBfloat16, "BFLOAT16"}, {Type::kE4m3, "FLOAT8E4M3FN"},
      {Type::kE5m2, "FLOAT8E5M2"}, {Type::kUint4, "UINT4"},       {Type::kInt4, "INT4"}};
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& row) { return row.first == type; });
  return found == std::end(kNames) ? fmt::format("type {}", static_cast<int>(type))
                                   : std::string(found->second);
}

std::size_t element_bytes(Type type) {
  switch (type) {
    case Type::kFloat:
    case Type::kInt32:
      return 4;
    case Type::kFloat16:
    case Type::kBfloat16:
      return 2;
    case Type::kInt8:
    case Type::kUint8:
    case Type::kBool:
      return 1;
    case Type::kDouble:
    case Type::kInt64:
      return 8;
    default:
      return 0;
  }
}

void set_elements(Tensor& tensor, std::string_view raw) {
  tensor.raw = raw;
  if (raw.empty() || raw.size() > kMaxSmall * element_bytes(tensor.type)) {
    return;
  }
  if (tensor.type == Type::kInt64) {
    tensor.integers = raw_integers<std::int64_t>(raw);
  } else if (tensor.type == Type::kInt32) {
    tensor.integers = raw_integers<std::int32_t>(raw);
  } else if (tensor.type == Type::kBool || tensor.type == Type::kUint8) {
    tensor.integers = raw_integers<std::uint8_t>(raw);
  } else if (tensor.type == Type::kInt8) {
    tensor.integers = raw_integers<std::int8_t>(raw);
  } else if (tensor.type == Type::kFloat) {
    tensor.reals = raw_reals(raw);
  }
}

std::string Node::label() const {
  return !name.empty() ? name : outputs.empty() ? op : outputs.front();
}

std::int64_t Node::integer(const std::string& key, std::int64_t absent) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? absent : found->second.integer;
}

Dims Node::integers(const std::string& key, const Dims& absent) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? absent : found->second.integers;
}

Model parse_onnx(std::string_view bytes, const std::string& file) {
  constexpr std::uint32_t kGraph = 7, kFunction = 25;
  Message message(bytes, bytes, file);
  Model model;
  bool found = false;
  Field field;
  while (message.next(field)) {
    if (field.number == kGraph && field.wire == 2) {
      model.graph = read_graph(message.inside(field), 0);
      found = true;
    } else if (field.number == kFunction && field.wire == 2) {
      model.functions.push_back(read_function(message.inside(field)));
    }
  }
  if (!found) {
    throw base::InputError(file + ": this ONNX model has no graph");
  }
  return model;
}

}  // namespace sptc::workload::onnx
