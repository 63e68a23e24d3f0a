// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx_model.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

namespace sptc::workload {
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
  std::string text() const { return std::string(bytes); }
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
    throw base::InputError(fmt::format("{}: byte {}: {}, so this is no whole ONNX model", file_,
                                       rest_.data() - whole_.data(), problem));
  }

 private:
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
void add_integers(const Message& message, const Field& field, OnnxDims& to) {
  if (field.wire != 2) {
    to.push_back(field.integer());
    return;
  }
  Message packed = message.inside(field);
  while (!packed.empty() && to.size() < kMaxSmall) {
    to.push_back(static_cast<std::int64_t>(packed.varint()));
  }
}

OnnxDims raw_integers(std::string_view raw, OnnxType type) {
  OnnxDims values;
  const std::size_t size = type == OnnxType::kInt64 ? 8 : 4;
  for (std::size_t at = 0; at + size <= raw.size(); at += size) {
    std::int64_t value = 0;
    std::int32_t narrow = 0;
    if (size == 8) {
      std::memcpy(&value, raw.data() + at, size);
    } else {
      std::memcpy(&narrow, raw.data() + at, size);
      value = narrow;
    }
    values.push_back(value);
  }
  return values;
}

std::vector<float> raw_reals(std::string_view raw) {
  constexpr std::size_t kMaxReals = 16;  // the scales of a Resize
  std::vector<float> values;
  for (std::size_t at = 0;
       raw.size() <= kMaxReals * sizeof(float) && at + sizeof(float) <= raw.size();
       at += sizeof(float)) {
    std::memcpy(&values.emplace_back(), raw.data() + at, sizeof(float));
  }
  return values;
}

OnnxTensor read_tensor(Message message) {
  OnnxTensor tensor;
  OnnxDims values;
  std::string_view raw, packed;
  Field field;
  while (message.next(field)) {
    switch (field.number) {
      case 1:
        add_integers(message, field, tensor.dims);
        break;
      case 2:
        tensor.type = static_cast<OnnxType>(field.value);
        break;
      case 4:
        tensor.reals = raw_reals(field.bytes);
        packed = field.bytes;
        break;
      case 5:
      case 7:
        add_integers(message, field, values);
        break;
      case 8:
        tensor.name = field.text();
        break;
      case 9:
        raw = field.bytes;
        break;
      default:
        break;
    }
  }
  const bool integral = tensor.type == OnnxType::kInt64 || tensor.type == OnnxType::kInt32;
  if (integral && raw.size() <= kMaxSmall * sizeof(std::int64_t)) {
    tensor.integers = raw.empty() ? values : raw_integers(raw, tensor.type);
  }
  if (tensor.type == OnnxType::kFloat && !raw.empty()) {
    tensor.reals = raw_reals(raw);
  }
  tensor.raw = raw.empty() && tensor.type == OnnxType::kFloat ? packed : raw;
  return tensor;
}

OnnxGraph read_graph(Message message, int depth);

std::pair<std::string, OnnxAttribute> read_attribute(Message message, int depth) {
  std::pair<std::string, OnnxAttribute> result;
  OnnxAttribute& attribute = result.second;
  Field field;
  while (message.next(field)) {
    switch (field.number) {
      case 1:
        result.first = field.text();
        break;
      case 2:
        attribute.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        break;
      case 3:
        attribute.integer = field.integer();
        break;
      case 4:
        attribute.text = field.text();
        break;
      case 5:
        attribute.tensor = read_tensor(message.inside(field));
        break;
      case 6:
      case 11:
        attribute.graphs.push_back(read_graph(message.inside(field), depth + 1));
        break;
      case 8:
        add_integers(message, field, attribute.integers);
        break;
      default:
        break;
    }
  }
  return result;
}

OnnxNode read_node(Message message, int depth) {
  OnnxNode node;
  Field field;
  while (message.next(field)) {
    switch (field.number) {
      case 1:
        node.inputs.push_back(field.text());
        break;
      case 2:
        node.outputs.push_back(field.text());
        break;
      case 3:
        node.name = field.text();
        break;
      case 4:
        node.op = field.text();
        break;
      case 5:
        node.attributes.insert(read_attribute(message.inside(field), depth));
        break;
      case 7:
        node.domain = field.text();
        break;
      default:
        break;
    }
  }
  return node;
}

/// TensorShapeProto.Dimension: a value, a name, or neither.
void read_dimension(Message message, OnnxInput& input) {
  std::int64_t value = -1;
  std::string name;
  Field field;
  while (message.next(field)) {
    if (field.number == 1) {
      value = field.integer();
    } else if (field.number == 2) {
      name = field.text();
    }
  }
  input.dims.push_back(value > 0 ? value : -1);
  input.dim_names.push_back(name);
}

OnnxInput read_value_info(Message message) {
  OnnxInput input;
  Field field;
  while (message.next(field)) {
    if (field.number == 1) {
      input.name = field.text();
    }
    if (field.number != 2) {
      continue;
    }
    Message type = message.inside(field);
    Field kind;
    while (type.next(kind)) {
      if (kind.number != 1) {
        continue;
      }
      Message tensor = type.inside(kind);
      Field part;
      while (tensor.next(part)) {
        if (part.number == 1) {
          input.type = static_cast<OnnxType>(part.value);
        } else if (part.number == 2) {
          input.has_shape = true;
          Message shape = tensor.inside(part);
          Field dimension;
          while (shape.next(dimension)) {
            if (dimension.number == 1) {
              read_dimension(shape.inside(dimension), input);
            }
          }
        }
      }
    }
  }
  return input;
}

OnnxGraph read_graph(Message message, int depth) {
  if (depth > kMaxDepth) {
    message.fail("graphs are nested deeper than 64 levels");
  }
  OnnxGraph graph;
  Field field;
  while (message.next(field)) {
    switch (field.number) {
      case 1:
        graph.nodes.push_back(read_node(message.inside(field), depth));
        break;
      case 5:
        graph.initializers.push_back(read_tensor(message.inside(field)));
        break;
      case 11:
        graph.inputs.push_back(read_value_info(message.inside(field)));
        break;
      case 12:
        graph.outputs.push_back(read_value_info(message.inside(field)).name);
        break;
      case 13:
        graph.values.push_back(read_value_info(message.inside(field)));
        break;
      default:
        break;
    }
  }
  return graph;
}

}  // namespace

std::int64_t OnnxNode::integer(const std::string& key, std::int64_t absent) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? absent : found->second.integer;
}

OnnxDims OnnxNode::integers(const std::string& key, OnnxDims absent) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::move(absent) : found->second.integers;
}

OnnxGraph parse_onnx(std::string_view bytes, const std::string& file) {
  Message model(bytes, bytes, file);
  OnnxGraph graph;
  bool found = false;
  Field field;
  while (model.next(field)) {
    if (field.number == 7 && field.wire == 2) {
      graph = read_graph(model.inside(field), 0);
      found = true;
    }
  }
  if (!found) {
    throw base::InputError(file + ": this ONNX model has no graph");
  }
  return graph;
}

}  // namespace sptc::workload
