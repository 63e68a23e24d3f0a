// SPDX-License-Identifier: Apache-2.0
//
// Operators that arrange elements anew: their extents and, where they are known, their elements.
#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sptc::workload::onnx {
namespace {

using namespace rule;

/// How far elements are apart that follow each other along an axis; 0 where they are not known.
Dims strides_of(const Value& x) {
  Dims strides(x.dims->size(), x.numbers ? 1 : 0);
  for (std::size_t i = strides.size(); i-- > 1;) {
    strides[i - 1] = x.numbers ? strides[i] * std::max<std::int64_t>((*x.dims)[i], 1) : 0;
  }
  return strides;
}

/// Elements of `from` at `offset` + index * stride over all indices below `dims`.
std::optional<Numbers> strided(const Value& from, const Dims& dims, const Dims& strides, std::int64_t offset) {
  const auto count = count_of(dims);
  if (!count || !from.numbers) {
    return std::nullopt;
  }
  Numbers result;
  Dims index(dims.size(), 0);
  for (std::size_t i = 0; i < *count; ++i) {
    std::int64_t place = offset;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      place += index[axis] * strides[axis];
    }
    if (place < 0 || place >= static_cast<std::int64_t>(from.numbers->size())) {
      return std::nullopt;
    }
    result.push_back((*from.numbers)[static_cast<std::size_t>(place)]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
  return result;
}

void view(const Value& x, const Dims& dims, const Dims& strides, std::int64_t offset, Value& y) {
  y.dims = dims;
  y.numbers = strided(x, dims, strides, offset);
}

/// The product of extents, as far as an extent is kept: of more, kMaxExtent + 1.
std::int64_t joined_extent(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kBeyond = kMaxExtent + 1;
  a = std::clamp<std::int64_t>(a, 0, kBeyond);
  b = std::clamp<std::int64_t>(b, 0, kBeyond);
  return std::min(a * b, kBeyond);
}

void reshape(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  auto shape = parameter(node, in, 1, "shape");
  if (!shape) {
    return;
  }
  const bool copies = node.integer("allowzero", 0) == 0;
  double known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] == 0 && copies && i < x.size()) {
      (*shape)[i] = x[i];
    }
    if ((*shape)[i] == -1) {
      open = i;
    } else {
      known *= static_cast<double>((*shape)[i]);
    }
  }
  if (open) {
    const auto elements = elements_of(x);
    const double extent = elements.value_or(0) / known;
    if (!elements || !(known > 0) || extent != std::floor(extent)) {
      return;
    }
    (*shape)[*open] = extent <= static_cast<double>(kMaxExtent) ? static_cast<std::int64_t>(extent) : kMaxExtent + 1;
  }
  y.dims = shape;
  y.numbers = in[0].numbers;
}

void flatten(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  const std::int64_t axis = node.integer("axis", 1);
  const std::int64_t from = std::clamp<std::int64_t>(axis < 0 ? axis + size(x) : axis, 0, size(x));
  y.dims = Dims{1, 1};
  for (std::int64_t i = 0; i < size(x); ++i) {
    std::int64_t& part = (*y.dims)[i < from ? 0 : 1];
    part = joined_extent(part, x[static_cast<std::size_t>(i)]);
  }
  y.numbers = in[0].numbers;
}

/// The transpose of a weight has its origin.
void transpose(const Node& node, const Inputs& in, Value& y) {
  const Value& x = in[0];
  Dims order(x.dims->size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = node.integers("perm", order);
  const Dims from = strides_of(x);
  Dims dims, strides;
  for (const std::int64_t place : order) {
    const auto axis = axis_of(place, size(*x.dims));
    if (!axis) {
      return;
    }
    dims.push_back((*x.dims)[*axis]);
    strides.push_back(from[*axis]);
  }
  view(x, dims, strides, 0, y);
  if (x.origin && x.origin->dims.size() == 2 && order == Dims{1, 0}) {
    y.origin = x.origin;
    y.origin->transposed = !x.origin->transposed;
  }
}

void gather(const Node& node, const Inputs& in, Value& y) {
  const Value& x = in[0];
  const Value& index = at(in, 1);
  const auto axis = axis_of(node.integer("axis", 0), size(*x.dims));
  if (!axis || !index.dims) {
    return;
  }
  const auto after = x.dims->begin() + static_cast<std::ptrdiff_t>(*axis);
  Dims dims(x.dims->begin(), after);
  dims.insert(dims.end(), index.dims->begin(), index.dims->end());
  dims.insert(dims.end(), after + 1, x.dims->end());
  y.dims = dims;
  if (!x.numbers || !index.numbers || !count_of(dims)) {
    return;
  }
  const auto inner = static_cast<std::size_t>(strides_of(x)[*axis]);
  const auto extent = static_cast<std::size_t>(*after);
  Numbers& numbers = y.numbers.emplace();
  for (std::size_t outer = 0; extent > 0 && outer < x.numbers->size() / (inner * extent); ++outer) {
    for (const double place : *index.numbers) {
      const auto at_axis = axis_of(static_cast<std::int64_t>(place), *after);
      for (std::size_t i = 0; i < inner; ++i) {
        numbers.push_back(at_axis ? (*x.numbers)[(outer * extent + *at_axis) * inner + i]
                                  : std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
}

/// The extents are those of the indices.
void gather_elements(const Node& /*node*/, const Inputs& in, Value& y) {
  y.dims = at(in, 1).dims;
}

void unsqueeze(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  const auto axes = parameter(node, in, 1, "axes");
  if (!axes || axes->size() > kMaxRank) {
    return;
  }
  const std::int64_t rank = size(x) + size(*axes);
  std::vector<bool> is_new(static_cast<std::size_t>(rank), false);
  for (const std::int64_t given : *axes) {
    const auto axis = axis_of(given, rank);
    if (!axis || is_new[*axis]) {
      return;
    }
    is_new[*axis] = true;
  }
  y.dims.emplace();
  std::size_t next = 0;
  for (const bool one : is_new) {
    y.dims->push_back(one ? 1 : x[next++]);
  }
  y.numbers = in[0].numbers;
}

void squeeze(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  const auto axes = parameter(node, in, 1, "axes");
  y.dims.emplace();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto named = [&](std::int64_t axis) { return axis_of(axis, size(x)) == i; };
    const bool dropped = axes ? std::any_of(axes->begin(), axes->end(), named) : x[i] == 1;
    if (!dropped) {
      y.dims->push_back(x[i]);
    }
  }
  y.numbers = in[0].numbers;
}

void slice(const Node& node, const Inputs& in, Value& y) {
  const Dims& x = *in[0].dims;
  const auto starts = parameter(node, in, 1, "starts"), ends = parameter(node, in, 2, "ends");
  const auto axes = parameter(node, in, 3, "axes"), steps = parameter(node, in, 4, "steps");
  if (!starts || !ends || starts->size() != ends->size()) {
    return;
  }
  const Dims from = strides_of(in[0]);
  Dims dims = x, strides = from, offsets(x.size(), 0);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t given = axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i);
    const auto axis = axis_of(given, size(x));
    const std::int64_t step =
        std::clamp<std::int64_t>(steps && i < steps->size() ? (*steps)[i] : 1, -kMaxExtent, kMaxExtent);
    if (!axis || step == 0) {
      return;
    }
    const std::int64_t extent = x[*axis];
    const bool back = step < 0;
    const auto place_of = [&](std::int64_t place, std::int64_t least) {
      return std::clamp<std::int64_t>(place < 0 ? place + extent : place, least, back ? extent - 1 : extent);
    };
    const std::int64_t begin = extent == 0 ? 0 : place_of((*starts)[i], 0);
    const std::int64_t end = extent == 0 ? 0 : place_of((*ends)[i], back ? -1 : 0);
    const std::int64_t span = back ? begin - end : end - begin;
    const std::int64_t stride = back ? -step : step;
    dims[*axis] = span > 0 ? (span + stride - 1) / stride : 0;
    strides[*axis] = step * from[*axis];
    offsets[*axis] = begin * from[*axis];
  }
  view(in[0], dims, strides, std::accumulate(offsets.begin(), offsets.end(), std::int64_t{0}), y);
}

void expand(const Node& /*node*/, const Inputs& in, Value& y) {
  if (const auto to = integers_of(at(in, 1))) {
    y.dims = broadcast(*in[0].dims, *to);
  }
  if (y.dims) {
    y.numbers = spread(in[0], *y.dims);
  }
}

void tile(const Node& /*node*/, const Inputs& in, Value& y) {
  const auto repeats = integers_of(at(in, 1));
  if (!repeats || repeats->size() != in[0].dims->size()) {
    return;
  }
  y.dims = in[0].dims;
  std::transform(y.dims->begin(), y.dims->end(), repeats->begin(), y.dims->begin(), joined_extent);
}

void pad(const Node& node, const Inputs& in, Value& y) {
  Dims dims = *in[0].dims;
  const auto pads = parameter(node, in, 1, "pads");
  if (!pads || pads->size() != 2 * dims.size()) {
    return;
  }
  for (std::size_t i = 0; i < pads->size(); ++i) {
    if ((*pads)[i] < -kMaxExtent || (*pads)[i] > kMaxExtent) {
      return;
    }
    dims[i % dims.size()] += (*pads)[i];
  }
  y.dims = dims;
}

void space(const Node& node, const Inputs& in, Value& y) {
  Dims dims = *in[0].dims;
  const std::int64_t block = node.integer("blocksize", 0);
  const std::int64_t square = joined_extent(block, block);
  if (dims.size() != 4 || square < 1 || square > kMaxExtent) {
    return;
  }
  const bool to_depth = node.op == "SpaceToDepth";
  dims[1] = to_depth ? joined_extent(dims[1], square) : dims[1] / square;
  for (const std::size_t axis : {std::size_t{2}, std::size_t{3}}) {
    dims[axis] = to_depth ? dims[axis] / block : joined_extent(dims[axis], block);
  }
  y.dims = dims;
}

}  // namespace

std::optional<std::size_t> rule::count_of(const Dims& dims) {
  std::size_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : dims) {
    if (extent < 0 || extent > static_cast<std::int64_t>(kMaxIntegers)) {
      return std::nullopt;
    }
    empty = empty || extent == 0;
    count *= static_cast<std::size_t>(std::max<std::int64_t>(extent, 1));
    if (count > kMaxIntegers) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::optional<Numbers> rule::spread(const Value& value, const Dims& dims) {
  if (!value.numbers || value.dims->size() > dims.size()) {
    return std::nullopt;
  }
  Dims strides = strides_of(value);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = (*value.dims)[i] == 1 ? 0 : strides[i];
  }
  strides.insert(strides.begin(), dims.size() - strides.size(), 0);
  return strided(value, dims, strides, 0);
}

/// Elements are joined along the first axis alone.
void rule::concat(const Node& node, const Inputs& in, Value& y) {
  y.dims = at(in, 0).dims;
  y.numbers = at(in, 0).numbers;
  for (std::size_t i = 1; i < in.size() && y.dims; ++i) {
    const auto axis = axis_of(node.integer("axis", 0), size(*y.dims));
    if (!axis || !in[i].dims || in[i].dims->size() != y.dims->size()) {
      y.dims.reset();
      return;
    }
    (*y.dims)[*axis] += (*in[i].dims)[*axis];
    if (*axis == 0 && y.numbers && in[i].numbers && count_of(*y.dims)) {
      y.numbers->insert(y.numbers->end(), in[i].numbers->begin(), in[i].numbers->end());
    } else {
      y.numbers.reset();
    }
  }
}

std::vector<Value> rule::split(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  const std::vector<Value> unknown(node.outputs.size(), with_dims(x, std::nullopt));
  const auto axis = x.dims ? axis_of(node.integer("axis", 0), size(*x.dims)) : std::nullopt;
  if (!axis) {
    return unknown;
  }
  const auto parts = parameter(node, in, 1, "split");
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  const std::int64_t each = ((*x.dims)[*axis] + count - 1) / count;
  const Dims strides = strides_of(x);
  std::vector<Value> outputs = unknown;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Dims dims = *x.dims;
    std::int64_t& extent = dims[*axis];
    extent = parts && i < parts->size() ? (*parts)[i] : std::min(each, extent - begin);
    if (begin > kMaxExtent || extent < 0) {
      return unknown;
    }
    view(x, dims, strides, begin * strides[*axis], outputs[i]);
    settle(outputs[i]);
    begin += std::min(extent, kMaxExtent + 1);
  }
  return outputs;
}

void add_arrangements(Operators& all) {
  static constexpr std::pair<std::string_view, Output> kRules[] = {
      {"Pad", pad},       {"Reshape", reshape},     {"SpaceToDepth", space},
      {"Tile", tile},     {"Flatten", flatten},     {"Transpose", transpose},
      {"Slice", slice},   {"Squeeze", squeeze},     {"Concat", rule::concat},
      {"Gather", gather}, {"Unsqueeze", unsqueeze}, {"GatherElements", gather_elements},
      {"Expand", expand}, {"DepthToSpace", space}};
  for (const auto& [op, output] : kRules) {
    all[op] = {.output = output, .keeps_elements = true};
  }
}

}  // namespace sptc::workload::onnx
