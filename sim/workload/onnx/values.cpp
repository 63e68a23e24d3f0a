// SPDX-License-Identifier: Apache-2.0
//
// Operators whose extents, elements or type are values of their operands or attributes.
#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <cmath>

namespace sptc::workload::onnx {
namespace {

using namespace rule;

void shape(const Node& node, const Inputs& in, Value& y) {
  y = {};
  y.type = Type::kInt64;
  if (const auto& x = at(in, 0).dims) {
    const auto place_of = [&](std::int64_t place) {
      return std::clamp<std::int64_t>(place < 0 ? place + size(*x) : place, 0, size(*x));
    };
    const std::int64_t begin = place_of(node.integer("start", 0));
    const std::int64_t end = std::max(begin, place_of(node.integer("end", size(*x))));
    y.dims = Dims{end - begin};
    y.numbers = Numbers(x->begin() + begin, x->begin() + end);
  }
}

void size_of(const Node& /*node*/, const Inputs& in, Value& y) {
  const auto& x = at(in, 0).dims;
  const auto elements = x ? elements_of(*x) : std::nullopt;
  y = {};
  y.type = Type::kInt64;
  y.dims = Dims{};
  if (elements && *elements <= 0x1p53) {
    y.numbers = Numbers{*elements};
  }
}

void constant(const Node& node, const Inputs& /*in*/, Value& y) {
  const auto set = [&y](Type type, const Dims& dims, const Numbers& numbers) {
    y.type = type;
    y.dims = dims;
    y.numbers = numbers;
  };
  y = {};
  if (const Attribute* const tensor = node.find("value"); tensor != nullptr && tensor->tensor) {
    y = constant_of(*tensor->tensor);
  } else if (const Attribute* const ints = node.find("value_ints")) {
    set(Type::kInt64, {size(ints->integers)}, {ints->integers.begin(), ints->integers.end()});
  } else if (const Attribute* const one = node.find("value_int")) {
    set(Type::kInt64, {}, {static_cast<double>(one->integer)});
  } else if (const Attribute* const real = node.find("value_float")) {
    set(Type::kFloat, {}, {real->real});
  } else if (const Attribute* const reals = node.find("value_floats")) {
    set(Type::kFloat, {static_cast<std::int64_t>(reals->reals.size())}, reals->reals);
  }
}

void constant_of_shape(const Node& node, const Inputs& in, Value& y) {
  const Attribute* const given = node.find("value");
  const bool is_given = given != nullptr && given->tensor;
  const Numbers* const numbers = is_given && given->tensor->numbers ? &*given->tensor->numbers : nullptr;
  y.dims = integers_of(at(in, 0));
  y.type = is_given ? given->tensor->type : Type::kFloat;
  const auto count = y.dims ? count_of(*y.dims) : std::nullopt;
  if (count && (!is_given || (numbers != nullptr && !numbers->empty()))) {
    y.numbers = Numbers(*count, is_given ? numbers->front() : 0.0);
  }
}

/// (start, limit, step)
void range(const Node& /*node*/, const Inputs& in, Value& y) {
  const auto start = only_number(at(in, 0)), limit = only_number(at(in, 1)), step = only_number(at(in, 2));
  const bool known = start && limit && step && *step != 0;
  const double count = known ? std::max(0.0, std::ceil((*limit - *start) / *step)) : 0;
  if (!known || !(count <= static_cast<double>(kMaxExtent))) {
    return;
  }
  y.dims = Dims{static_cast<std::int64_t>(count)};
  y.numbers.emplace();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && i <= kMaxIntegers; ++i) {
    y.numbers->push_back(*start + static_cast<double>(i) * *step);
  }
}

void quantize(const Node& /*node*/, const Inputs& in, Value& y) {
  y.dims = at(in, 0).dims;
  y.type = at(in, 2).type == Type::kNone ? Type::kUint8 : at(in, 2).type;
  y.quantized = false;
  y.origin = at(in, 0).origin;
}

void dequantize(const Node& node, const Inputs& in, Value& y) {
  y.dims = at(in, 0).dims;
  y.quantized = true;
  y.scale_block = node.integer("block_size", 0);
  y.origin = quantized_origin(node, in, 0, 2, node.integer("axis", 1));
}

void identity(const Node& /*node*/, const Inputs& in, Value& y) {
  y = at(in, 0);
}

void cast(const Node& node, const Inputs& in, Value& y) {
  y = at(in, 0);
  y.type = node.op == "CastLike" ? at(in, 1).type : static_cast<Type>(node.integer("to", 0));
}

/// (input ids, segment ids, table of words, ..)
void embed(const Node& /*node*/, const Inputs& in, Value& y) {
  const auto& ids = at(in, 0).dims;
  const auto& table = at(in, 2).dims;
  y = with_dims(at(in, 2), std::nullopt);
  if (ids && table && !table->empty()) {
    y.dims = ids;
    y.dims->push_back(table->back());
  }
}

/// (x, k): the largest k along an axis.
void top_k(const Node& node, const Inputs& in, Value& y) {
  const auto& x = at(in, 0).dims;
  const Attribute* const given = node.find("k");
  const auto k = given != nullptr ? std::optional(static_cast<double>(given->integer)) : only_number(at(in, 1));
  const auto axis = x ? axis_of(node.integer("axis", -1), size(*x)) : std::nullopt;
  if (axis && k) {
    y.dims = x;
    (*y.dims)[*axis] = static_cast<std::int64_t>(std::min(*k, 0x1p62));
  }
}

}  // namespace

void add_values(Operators& all) {
  const auto add = [&all](std::string_view op, Output output, bool keeps_elements = false) {
    all[op] = {.output = output, .needs_extents = false, .keeps_elements = keeps_elements};
  };
  add("Shape", shape);
  add("Size", size_of);
  add("Constant", constant);
  add("ConstantOfShape", constant_of_shape);
  add("Range", range);
  add("TopK", top_k);
  add("EmbedLayerNormalization", embed);
  add("QuantizeLinear", quantize);
  add("DequantizeLinear", dequantize, true);
  add("Identity", identity, true);
  add("Dropout", identity, true);
  add("Cast", cast, true);
  add("CastLike", cast, true);
}

}  // namespace sptc::workload::onnx
