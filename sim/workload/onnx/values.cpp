// SPDX-License-Identifier: Apache-2.0
//
// Rules of operators whose extents or type are values of their operands or attributes.
#include "sim/workload/launch_list.h"
#include "sim/workload/onnx/rule.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::workload::onnx {
namespace {

using namespace rule;

Value shape(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  Value value;
  value.type = Type::kInt64;
  if (x) {
    const auto bounded = [&](std::int64_t place) {
      return std::clamp<std::int64_t>(place < 0 ? place + size(*x) : place, 0, size(*x));
    };
    const std::int64_t begin = bounded(node.integer("start", 0));
    const std::int64_t end = std::max(begin, bounded(node.integer("end", size(*x))));
    value.integers = Dims(x->begin() + begin, x->begin() + end);
    value.dims = Dims{end - begin};
  }
  return value;
}

Value constant(const Node& node, const Inputs& /*in*/) {
  Value value;
  const auto tensor = node.attributes.find("value");
  if (tensor != node.attributes.end() && tensor->second.tensor) {
    value.dims = bounded(tensor->second.tensor->dims);
    value.integers = tensor->second.tensor->integers;
    value.reals = tensor->second.tensor->reals;
    value.type = tensor->second.tensor->type;
  } else if (const auto ints = node.attributes.find("value_ints"); ints != node.attributes.end()) {
    value.type = Type::kInt64;
    value.integers = ints->second.integers;
    value.dims = Dims{size(ints->second.integers)};
  } else if (const auto one = node.attributes.find("value_int"); one != node.attributes.end()) {
    value.type = Type::kInt64;
    value.integers = Dims{one->second.integer};
    value.dims = Dims{};
  } else if (const auto real = node.attributes.find("value_float"); real != node.attributes.end()) {
    value.type = Type::kFloat;
    value.reals = {static_cast<float>(real->second.real)};
    value.dims = Dims{};
  } else if (const auto all = node.attributes.find("value_floats"); all != node.attributes.end()) {
    value.type = Type::kFloat;
    value.reals = all->second.reals;
    value.dims = Dims{static_cast<std::int64_t>(value.reals.size())};
  }
  return value;
}

Value constant_of_shape(const Node& node, const Inputs& in) {
  Value value = with_dims(at(in, 0), at(in, 0).integers);
  const auto found = node.attributes.find("value");
  value.type = found != node.attributes.end() && found->second.tensor ? found->second.tensor->type
                                                                      : Type::kFloat;
  return value;
}

/// (start, limit, step)
Value range(const Node& /*node*/, const Inputs& in) {
  const auto start = numbers_of(at(in, 0)), limit = numbers_of(at(in, 1)),
             step = numbers_of(at(in, 2));
  const bool known = start && limit && step && start->size() == 1 && limit->size() == 1 &&
                     step->size() == 1 && step->front() != 0;
  const double count =
      known ? std::max(0.0, std::ceil((limit->front() - start->front()) / step->front())) : 0;
  const bool fits = known && count <= static_cast<double>(kMaxExtent);
  return with_dims(at(in, 0),
                   fits ? std::optional(Dims{static_cast<std::int64_t>(count)}) : std::nullopt);
}

Value quantize(const Node& /*node*/, const Inputs& in) {
  Value value = with_dims(at(in, 0), at(in, 0).dims);
  value.type = at(in, 2).type == Type::kNone ? Type::kUint8 : at(in, 2).type;
  value.quantized = false;
  return value;
}

Value dequantize(const Node& node, const Inputs& in) {
  Value value = with_dims(at(in, 0), at(in, 0).dims);
  value.quantized = true;
  value.scale_block = node.integer("block_size", 0);
  return value;
}

Value cast(const Node& node, const Inputs& in) {
  Value value = with_dims(at(in, 0), at(in, 0).dims);
  value.type = node.op == "CastLike" ? at(in, 1).type : static_cast<Type>(node.integer("to", 0));
  return value;
}

/// (input ids, segment ids, table of words, ..)
Value embed(const Node& /*node*/, const Inputs& in) {
  const auto& ids = at(in, 0).dims;
  const auto& table = at(in, 2).dims;
  if (!ids || !table || table->empty()) {
    return with_dims(at(in, 2), std::nullopt);
  }
  Dims dims = *ids;
  dims.push_back(table->back());
  return with_dims(at(in, 2), dims);
}

Value one_hot(const Node& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto depth = numbers_of(at(in, 1));
  const auto axis = dims ? axis_of(node.integer("axis", -1), size(*dims) + 1) : std::nullopt;
  if (!axis || !depth || depth->size() != 1) {
    return with_dims(at(in, 2), std::nullopt);
  }
  dims->insert(dims->begin() + static_cast<std::ptrdiff_t>(*axis),
               static_cast<std::int64_t>(depth->front()));
  return with_dims(at(in, 2), dims);
}

/// (x, grid): the extents of the grid.
Value grid_sample(const Node& /*node*/, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto& grid = at(in, 1).dims;
  if (!dims || !grid || dims->size() < 3 || grid->size() != dims->size()) {
    return with_dims(at(in, 0), std::nullopt);
  }
  std::copy(grid->begin() + 1, grid->end() - 1, dims->begin() + 2);
  return with_dims(at(in, 0), dims);
}

/// (x, k): the largest k along an axis.
Value top_k(const Node& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto given = node.attributes.find("k");
  const auto k =
      given != node.attributes.end()
          ? std::optional(std::vector<double>{static_cast<double>(given->second.integer)})
          : numbers_of(at(in, 1));
  const auto axis = dims ? axis_of(node.integer("axis", -1), size(*dims)) : std::nullopt;
  if (!axis || !k || k->size() != 1) {
    return with_dims(at(in, 0), std::nullopt);
  }
  (*dims)[*axis] = static_cast<std::int64_t>(k->front());
  return with_dims(at(in, 0), dims);
}

Value size_of(const Node& /*node*/, const Inputs& in) {
  Value value;
  value.type = Type::kInt64;
  value.dims = Dims{};
  const auto& x = at(in, 0).dims;
  const auto elements = x ? elements_of(*x) : std::nullopt;
  if (elements && *elements <= 0x1p53) {
    value.integers = Dims{static_cast<std::int64_t>(*elements)};
  }
  return value;
}

std::optional<std::int64_t> whole_of(const Value& value) {
  const auto numbers = numbers_of(value);
  return numbers && numbers->size() == 1 ? std::optional(static_cast<std::int64_t>((*numbers)[0]))
                                         : std::nullopt;
}

/// Frequencies of a transform of `length` elements.
std::int64_t bins(const Node& node, std::int64_t length, std::int64_t onesided) {
  return node.integer("onesided", onesided) != 0 ? length / 2 + 1 : length;
}

/// (signal [batch, length, 1 or 2], step between frames, window, elements of a frame).
Value stft(const Node& node, const Inputs& in) {
  const auto& signal = at(in, 0).dims;
  const auto step = whole_of(at(in, 1));
  const auto& window = at(in, 2).dims;
  auto frame = whole_of(at(in, 3));
  if (!frame && window && window->size() == 1) {
    frame = window->front();
  }
  if (!signal || signal->size() < 2 || !step || *step < 1 || !frame || *frame < 1 ||
      *frame > (*signal)[1]) {
    return with_dims(at(in, 0), std::nullopt);
  }
  return with_dims(
      at(in, 0), Dims{(*signal)[0], ((*signal)[1] - *frame) / *step + 1, bins(node, *frame, 1), 2});
}

/// (x, length, axis); in opset 17 the axis is an attribute. Without one it is 1 there and -2 in
/// opset 20: the same axis where x has three.
Value dft(const Node& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const std::int64_t rank = size(dims.value_or(Dims{}));
  const std::int64_t none = rank == 3 ? 1 : rank;
  const std::int64_t given = at(in, 2).dims || at(in, 2).integers
                                 ? whole_of(at(in, 2)).value_or(rank)
                                 : node.integer("axis", none);
  const auto axis = dims ? axis_of(given, rank) : std::nullopt;
  if (!axis || *axis + 1 == dims->size()) {
    return with_dims(at(in, 0), std::nullopt);
  }
  (*dims)[*axis] = bins(node, whole_of(at(in, 1)).value_or((*dims)[*axis]), 0);
  dims->back() = 2;
  return with_dims(at(in, 0), dims);
}

}  // namespace

void add_value_rules(Rules& rules) {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"DFT", dft},     {"Range", range},       {"GridSample", grid_sample},
      {"STFT", stft},   {"Size", size_of},      {"QuantizeLinear", quantize},
      {"Cast", cast},   {"CastLike", cast},     {"DequantizeLinear", dequantize},
      {"TopK", top_k},  {"OneHot", one_hot},    {"EmbedLayerNormalization", embed},
      {"Shape", shape}, {"Constant", constant}, {"ConstantOfShape", constant_of_shape}};
  rules.insert(std::begin(kRules), std::end(kRules));
}

}  // namespace sptc::workload::onnx
