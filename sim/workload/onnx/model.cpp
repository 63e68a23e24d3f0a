// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/model.h"

#include "sim/io/text_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace sptc::workload::onnx {
namespace {

constexpr TypeInfo kTypes[] = {{Type::kNone, "", "", ""},
                               {Type::kFloat, "FLOAT", "F32", ""},
                               {Type::kUint8, "UINT8", "U8", ""},
                               {Type::kInt8, "INT8", "I8", ""},
                               {Type::kUint16, "UINT16", "", "s16"},
                               {Type::kInt16, "INT16", "", "s16"},
                               {Type::kInt32, "INT32", "I32", ""},
                               {Type::kInt64, "INT64", "I64", ""},
                               {Type::kBool, "BOOL", "BOOL", ""},
                               {Type::kFloat16, "FLOAT16", "F16", "f16"},
                               {Type::kDouble, "DOUBLE", "F64", "f64"},
                               {Type::kBfloat16, "BFLOAT16", "BF16", "bf16"},
                               {Type::kE4m3, "FLOAT8E4M3FN", "", "e4m3"},
                               {Type::kE5m2, "FLOAT8E5M2", "", "e5m2"},
                               {Type::kUint4, "UINT4", "", "s4"},
                               {Type::kInt4, "INT4", "", "s4"},
                               {Type::kE2m1, "", "", "e2m1"}};

Numbers decoded(std::string_view raw, const io::ElementType& element) {
  const auto bytes = static_cast<std::size_t>(element.bytes);
  Numbers numbers;
  for (std::size_t at = 0; at + bytes <= raw.size(); at += bytes) {
    numbers.push_back(element.value(reinterpret_cast<const std::byte*>(raw.data() + at)));
  }
  return numbers;
}

struct Source {
  std::string_view whole;
  const std::string& file;
  const OpenTensor& open;
};

class Message {
 public:
  /// `depth`: graphs in attributes around it.
  Message(std::string_view bytes, const Source& source, int depth) : rest_(bytes), source_(source), depth_(depth) {}

  bool next() {
    if (rest_.empty()) {
      return false;
    }
    const std::uint64_t key = varint();
    number_ = static_cast<std::uint32_t>(key >> 3);
    is_bytes_ = (key & 7) == 2;
    value_ = 0;
    bytes_ = {};
    switch (key & 7) {
      case 0:
        value_ = varint();
        break;
      case 1:
        value_ = fixed(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        value_ = fixed(4);
        break;
      default:
        fail("a field of an unknown kind");
    }
    return true;
  }

  bool is(std::uint32_t wanted) const { return number_ == wanted; }
  std::string_view text() const { return bytes_; }
  Message inside(int deeper = 0) const { return {bytes_, source_, depth_ + deeper}; }
  int depth() const { return depth_; }

  /// Where this is field `wanted`, gives `to` what it says, or adds it to what is repeated.
  template <typename T>
  void read(std::uint32_t wanted, T& to) const {
    if (is(wanted)) {
      get(to);
    }
  }
  /// The same of a message that `reader` reads.
  template <typename T>
  void read(std::uint32_t wanted, std::vector<T>& to, T (*reader)(Message)) const {
    if (is(wanted) && is_bytes_) {
      to.push_back(reader(inside()));
    }
  }
  /// Where this is the message `wanted`, shows `visit` its fields.
  template <typename Visit>
  void each(std::uint32_t wanted, const Visit& visit) const {
    for (Message message = inside(); is(wanted) && message.next();) {
      visit(message);
    }
  }

  void open(Tensor& tensor) const {
    if (source_.open) {
      source_.open(tensor);
    }
  }

  [[noreturn]] void fail(const char* problem) const {
    refuse(fmt::format("{}, so this is no whole ONNX model", problem));
  }
  void require_rank(const Dims& dims) const {
    if (dims.size() > kMaxRank) {
      refuse(fmt::format("a tensor has more than {} axes", kMaxRank));
    }
  }

 private:
  void get(std::string& to) const { to = bytes_; }
  void get(std::string_view& to) const { to = bytes_; }
  void get(std::int64_t& to) const { to = static_cast<std::int64_t>(value_); }
  void get(Type& to) const { to = static_cast<Type>(value_); }
  void get(double& to) const { to = std::bit_cast<float>(static_cast<std::uint32_t>(value_)); }
  void get(std::vector<std::string>& to) const { to.emplace_back(bytes_); }
  /// Packed or one by one.
  void get(Dims& to) const {
    if (!is_bytes_ && to.size() < kMaxIntegers) {
      get(to.emplace_back());
    }
    for (Message packed = inside(); !packed.rest_.empty() && to.size() < kMaxIntegers;) {
      to.push_back(static_cast<std::int64_t>(packed.varint()));
    }
  }
  void get(Numbers& to) const {
    if (is_bytes_) {
      to = bytes_.size() > kMaxReals * sizeof(float) ? Numbers{} : decoded(bytes_, *element_of(Type::kFloat));
    } else if (to.size() < kMaxIntegers) {
      get(to.emplace_back());
    }
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    io::refuse("{}: byte {}: {}", source_.file, rest_.data() - source_.whole.data(), problem);
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

  std::string_view rest_;
  const Source& source_;
  int depth_;
  std::uint32_t number_ = 0;
  bool is_bytes_ = false;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
};

/// An entry of TensorProto.external_data: a key and its value.
void read_external(Message message, External& external) {
  std::string key, value;
  while (message.next()) {
    (message.is(1) ? key : value) = message.text();
  }
  std::uint64_t number = 0;
  const bool whole = io::parse_whole(value, number);
  if (key == "location") {
    external.location = value;
  } else if (key == "offset" || key == "length") {
    if (!whole) {
      message.fail("the place of external data is no number of bytes");
    }
    (key == "offset" ? external.offset : external.bytes.emplace()) = number;
  }
}

/// Types of which small tensors are kept as numbers.
bool is_kept(Type type) {
  return type == Type::kFloat || type == Type::kInt64 || type == Type::kInt32 || type == Type::kBool ||
         type == Type::kUint8 || type == Type::kInt8;
}

Tensor read_tensor(Message message) {
  std::int64_t place = 0;
  External external;
  Tensor tensor;
  Dims values;
  std::string_view raw, packed;
  while (message.next()) {
    message.read(1, tensor.dims);
    message.read(2, tensor.type);
    message.read(4, packed);
    message.read(5, values);
    message.read(7, values);
    message.read(8, tensor.name);
    message.read(9, raw);
    message.read(14, place);
    if (message.is(13)) {
      read_external(message.inside(), external);
    }
  }
  message.require_rank(tensor.dims);
  if (place == 1) {
    tensor.external = std::move(external);
    message.open(tensor);
    return tensor;
  }
  const bool is_float = tensor.type == Type::kFloat;
  set_elements(tensor, raw.empty() && is_float ? packed : raw);
  if (is_kept(tensor.type) && !is_float && raw.empty()) {
    tensor.numbers.emplace(values.begin(), values.end());
  }
  return tensor;
}

Graph read_graph(Message message);

std::pair<std::string, Attribute> read_attribute(Message message) {
  std::pair<std::string, Attribute> result;
  Attribute& attribute = result.second;
  while (message.next()) {
    message.read(1, result.first);
    message.read(2, attribute.real);
    message.read(3, attribute.integer);
    message.read(4, attribute.text);
    message.read(7, attribute.reals);
    message.read(8, attribute.integers);
    message.read(21, attribute.refers_to);
    if (message.is(5)) {
      attribute.tensor = read_tensor(message.inside());
    } else if (message.is(6) || message.is(11)) {
      attribute.graphs.push_back(std::make_shared<Graph>(read_graph(message.inside(1))));
    }
  }
  return result;
}

Node read_node(Message message) {
  Node node;
  while (message.next()) {
    message.read(1, node.inputs);
    message.read(2, node.outputs);
    message.read(3, node.name);
    message.read(4, node.op);
    message.read(7, node.domain);
    if (message.is(5)) {
      node.attributes.insert(read_attribute(message.inside()));
    }
  }
  return node;
}

/// TensorShapeProto.Dimension: a value, a name, or neither.
void read_dimension(Message message, Input& input) {
  std::int64_t value = -1;
  std::string name;
  while (message.next()) {
    message.read(1, value);
    message.read(2, name);
  }
  input.dims.push_back(value > 0 ? value : -1);
  input.dim_names.push_back(name);
}

Input read_value_info(Message message) {
  Input input;
  while (message.next()) {
    message.read(1, input.name);
    message.each(2, [&input](const Message& type) {  // of which a tensor is one
      type.each(1, [&input](const Message& tensor) {
        tensor.read(1, input.type);
        input.has_shape = input.has_shape || tensor.is(2);
        tensor.each(2, [&input](const Message& shape) {
          if (shape.is(1)) {
            read_dimension(shape.inside(), input);
          }
        });
      });
    });
  }
  if (input.dims.size() > kMaxRank) {
    input.has_shape = false;
    input.dims.clear();
    input.dim_names.clear();
  }
  return input;
}

Graph read_graph(Message message) {
  constexpr int kMaxDepth = 64;
  if (message.depth() > kMaxDepth) {
    message.fail("graphs are nested deeper than 64 levels");
  }
  Graph graph;
  while (message.next()) {
    message.read(1, graph.nodes, read_node);
    message.read(5, graph.initializers, read_tensor);
    message.read(11, graph.inputs, read_value_info);
    message.read(13, graph.values, read_value_info);
    if (message.is(12)) {
      graph.outputs.push_back(read_value_info(message.inside()).name);
    }
  }
  return graph;
}

Function read_function(Message message) {
  Function function;
  while (message.next()) {
    message.read(1, function.name);
    message.read(4, function.inputs);
    message.read(5, function.outputs);
    message.read(7, function.nodes, read_node);
    message.read(10, function.domain);
    if (message.is(11)) {
      function.defaults.insert(read_attribute(message.inside()));
    }
  }
  return function;
}

}  // namespace

const TypeInfo* find_type(Type type) {
  const auto* const found = std::ranges::find_if(kTypes, [type](const TypeInfo& row) { return row.type == type; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string name(Type type) {
  const TypeInfo* const known = find_type(type);
  return known == nullptr || known->name.empty() ? fmt::format("type {}", static_cast<int>(type))
                                                 : std::string(known->name);
}

const io::ElementType* element_of(Type type) {
  const TypeInfo* const known = find_type(type);
  return known == nullptr ? nullptr : io::find_element_type(known->element);
}

std::optional<std::uint64_t> bytes_of(Type type, const Dims& dims) {
  const io::ElementType* const element = element_of(type);
  if (element == nullptr || std::ranges::any_of(dims, [](std::int64_t extent) { return extent < 1; })) {
    return std::nullopt;
  }
  return io::packed_bytes(dims, element->bytes);
}

void set_elements(Tensor& tensor, std::string_view raw) {
  tensor.raw = raw;
  const io::ElementType* const element = is_kept(tensor.type) ? element_of(tensor.type) : nullptr;
  const std::size_t most = tensor.type == Type::kFloat ? kMaxReals : kMaxIntegers;
  if (element != nullptr && !raw.empty() && raw.size() <= most * static_cast<std::size_t>(element->bytes)) {
    tensor.numbers = decoded(raw, *element);
  }
}

std::string Node::label() const {
  return !name.empty() ? name : outputs.empty() ? op : outputs.front();
}

const Attribute* Node::find(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : &found->second;
}

std::int64_t Node::integer(const std::string& key, std::int64_t absent) const {
  const Attribute* const found = find(key);
  return found == nullptr ? absent : found->integer;
}

Dims Node::integers(const std::string& key, const Dims& absent) const {
  const Attribute* const found = find(key);
  return found == nullptr ? absent : found->integers;
}

Model parse_onnx(std::string_view bytes, const std::string& file, const OpenTensor& open) {
  const Source source{bytes, file, open};
  std::vector<Graph> graphs;
  Model model;
  for (Message message(bytes, source, 0); message.next();) {
    message.read(7, graphs, read_graph);
    message.read(25, model.functions, read_function);
  }
  if (graphs.empty()) {
    io::refuse("{}: this ONNX model has no graph", file);
  }
  model.graph = std::move(graphs.back());
  return model;
}

}  // namespace sptc::workload::onnx
