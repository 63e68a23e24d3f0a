// SPDX-License-Identifier: Apache-2.0
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

Value reshape(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  auto shape = parameter(node, in, 1, "shape");
  if (!x.dims || !shape) {
    return with_dims(x, std::nullopt);
  }
  const bool copies = node.integer("allowzero", 0) == 0;
  double known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] == 0 && copies && i < x.dims->size()) {
      (*shape)[i] = (*x.dims)[i];
    }
    if ((*shape)[i] == -1) {
      open = i;
    } else {
      known *= static_cast<double>((*shape)[i]);
    }
  }
  if (open) {
    const auto elements = elements_of(*x.dims);
    const double extent = elements.value_or(0) / known;
    if (!elements || !(known > 0) || extent != std::floor(extent)) {
      return with_dims(x, std::nullopt);
    }
    (*shape)[*open] = extent <= static_cast<double>(kMaxExtent) ? static_cast<std::int64_t>(extent)
                                                                : kMaxExtent + 1;
  }
  return with_dims(x, shape);
}

Value flatten(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  if (!x) {
    return at(in, 0);
  }
  const std::int64_t axis = node.integer("axis", 1);
  const std::int64_t from =
      std::clamp<std::int64_t>(axis < 0 ? axis + size(*x) : axis, 0, size(*x));
  Dims dims{1, 1};
  for (std::int64_t i = 0; i < size(*x); ++i) {
    std::int64_t& part = dims[i < from ? 0 : 1];
    part = joined_extent(part, (*x)[static_cast<std::size_t>(i)]);
  }
  return with_dims(at(in, 0), dims);
}

Value transpose(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  if (!x) {
    return at(in, 0);
  }
  Dims order;
  for (std::int64_t i = size(*x); i-- > 0;) {
    order.push_back(i);
  }
  order = node.integers("perm", order);
  Dims dims;
  for (const std::int64_t from : order) {
    const auto axis = axis_of(from, size(*x));
    if (!axis) {
      return with_dims(at(in, 0), std::nullopt);
    }
    dims.push_back((*x)[*axis]);
  }
  return with_dims(at(in, 0), dims);
}

Value gather(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  const Value& index = at(in, 1);
  const auto axis =
      x.dims && index.dims ? axis_of(node.integer("axis", 0), size(*x.dims)) : std::nullopt;
  if (!axis) {
    return with_dims(x, std::nullopt);
  }
  Dims dims(x.dims->begin(), x.dims->begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), index.dims->begin(), index.dims->end());
  dims.insert(dims.end(), x.dims->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.dims->end());
  return with_dims(x, dims);
}

/// The extents are those of the indices.
Value gather_elements(const Node& /*node*/, const Inputs& in) {
  return with_dims(at(in, 0), at(in, 1).dims);
}

Value gather_nd(const Node& node, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  const auto& index = at(in, 1).dims;
  const std::int64_t batches = node.integer("batch_dims", 0);
  if (!x || !index || index->empty() || batches < 0 || index->back() < 0 ||
      index->back() + batches > size(*x)) {
    return with_dims(at(in, 0), std::nullopt);
  }
  Dims dims(index->begin(), index->end() - 1);
  dims.insert(dims.end(), x->begin() + static_cast<std::ptrdiff_t>(index->back() + batches),
              x->end());
  return with_dims(at(in, 0), dims);
}

Value unsqueeze(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  const auto axes = parameter(node, in, 1, "axes");
  if (!x.dims || !axes || axes->size() > kMaxRank) {
    return with_dims(x, std::nullopt);
  }
  const std::int64_t rank = size(*x.dims) + size(*axes);
  std::vector<bool> is_new(static_cast<std::size_t>(rank), false);
  for (const std::int64_t given : *axes) {
    const auto axis = axis_of(given, rank);
    if (!axis || is_new[*axis]) {
      return with_dims(x, std::nullopt);
    }
    is_new[*axis] = true;
  }
  Dims dims;
  std::size_t next = 0;
  for (const bool one : is_new) {
    dims.push_back(one ? 1 : (*x.dims)[next++]);
  }
  return with_dims(x, dims);
}

Value squeeze(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  if (!x.dims) {
    return x;
  }
  const auto axes = parameter(node, in, 1, "axes");
  Dims dims;
  for (std::size_t i = 0; i < x.dims->size(); ++i) {
    const auto named = [&](std::int64_t axis) { return axis_of(axis, size(*x.dims)) == i; };
    const bool dropped = axes ? std::any_of(axes->begin(), axes->end(), named) : (*x.dims)[i] == 1;
    if (!dropped) {
      dims.push_back((*x.dims)[i]);
    }
  }
  return with_dims(x, dims);
}

Value slice(const Node& node, const Inputs& in) {
  const Value& x = at(in, 0);
  const auto slices = x.dims ? slices_of(node, in) : std::nullopt;
  Value value = with_dims(x, slices ? x.dims : std::nullopt);
  for (std::size_t i = 0; slices && i < slices->size(); ++i) {
    (*value.dims)[i] = (*slices)[i].count;
  }
  return value;
}

Value expand(const Node& /*node*/, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  const auto& to = at(in, 1).integers;
  return with_dims(at(in, 0), x && to ? broadcast(*x, *to) : std::nullopt);
}

Value tile(const Node& /*node*/, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto& repeats = at(in, 1).integers;
  if (!dims || !repeats || repeats->size() != dims->size()) {
    return with_dims(at(in, 0), std::nullopt);
  }
  for (std::size_t i = 0; i < dims->size(); ++i) {
    (*dims)[i] = joined_extent((*dims)[i], (*repeats)[i]);
  }
  return with_dims(at(in, 0), dims);
}

Value pad(const Node& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto pads = parameter(node, in, 1, "pads");
  if (!dims || !pads || pads->size() != 2 * dims->size()) {
    return with_dims(at(in, 0), std::nullopt);
  }
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const std::int64_t begin = (*pads)[i], end = (*pads)[i + dims->size()];
    if (begin < -kMaxExtent || begin > kMaxExtent || end < -kMaxExtent || end > kMaxExtent) {
      return with_dims(at(in, 0), std::nullopt);
    }
    (*dims)[i] += begin + end;
  }
  return with_dims(at(in, 0), dims);
}

Value space(const Node& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const std::int64_t block = node.integer("blocksize", 0);
  if (!dims || dims->size() != 4 || block < 1 || block > kMaxExtent) {
    return with_dims(at(in, 0), std::nullopt);
  }
  const bool to_depth = node.op == "SpaceToDepth";
  const std::int64_t square = joined_extent(block, block);
  if (square > kMaxExtent) {
    return with_dims(at(in, 0), std::nullopt);
  }
  (*dims)[1] = to_depth ? joined_extent((*dims)[1], square) : (*dims)[1] / square;
  for (const std::size_t axis : {std::size_t{2}, std::size_t{3}}) {
    (*dims)[axis] = to_depth ? (*dims)[axis] / block : joined_extent((*dims)[axis], block);
  }
  return with_dims(at(in, 0), dims);
}

}  // namespace

std::optional<std::vector<Slice>> rule::slices_of(const Node& node, const Inputs& in) {
  const Dims& dims = *at(in, 0).dims;
  const auto starts = parameter(node, in, 1, "starts");
  const auto ends = parameter(node, in, 2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) {
    return std::nullopt;
  }
  const auto axes = parameter(node, in, 3, "axes");
  const auto steps = parameter(node, in, 4, "steps");
  std::vector<Slice> slices;
  for (const std::int64_t extent : dims) {
    slices.push_back({0, extent, 1});
  }
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t given = axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i);
    const auto axis = axis_of(given, size(dims));
    const std::int64_t step = std::clamp<std::int64_t>(steps && i < steps->size() ? (*steps)[i] : 1,
                                                       -kMaxExtent, kMaxExtent);
    if (!axis || step == 0) {
      return std::nullopt;
    }
    const std::int64_t extent = dims[*axis];
    const bool back = step < 0;
    const auto bounded = [&](std::int64_t place, std::int64_t least) {
      return std::clamp<std::int64_t>(place < 0 ? place + extent : place, least,
                                      back ? extent - 1 : extent);
    };
    const std::int64_t begin = extent == 0 ? 0 : bounded((*starts)[i], 0);
    const std::int64_t end = extent == 0 ? 0 : bounded((*ends)[i], back ? -1 : 0);
    const std::int64_t span = back ? begin - end : end - begin;
    const std::int64_t stride = back ? -step : step;
    slices[*axis] = {begin, span > 0 ? (span + stride - 1) / stride : 0, step};
  }
  return slices;
}

Value rule::concat(const Node& node, const Inputs& in) {
  Value value = with_dims(at(in, 0), at(in, 0).dims);
  for (std::size_t i = 1; i < in.size(); ++i) {
    const auto axis =
        value.dims ? axis_of(node.integer("axis", 0), size(*value.dims)) : std::nullopt;
    const bool fits = axis && in[i].dims && in[i].dims->size() == value.dims->size();
    if (!fits) {
      return with_dims(value, std::nullopt);
    }
    (*value.dims)[*axis] += (*in[i].dims)[*axis];
  }
  return value;
}

void add_arrangement_rules(Rules& rules) {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"Pad", pad},       {"Reshape", reshape},    {"SpaceToDepth", space},
      {"Tile", tile},     {"Flatten", flatten},    {"Transpose", transpose},
      {"Slice", slice},   {"Squeeze", squeeze},    {"Concat", rule::concat},
      {"Gather", gather}, {"GatherND", gather_nd}, {"Unsqueeze", unsqueeze},
      {"Expand", expand}, {"DepthToSpace", space}, {"GatherElements", gather_elements}};
  rules.insert(std::begin(kRules), std::end(kRules));
}

}  // namespace sptc::workload::onnx
