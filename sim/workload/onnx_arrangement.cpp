// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/launch_list.h"
#include "sim/workload/onnx_rule.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sptc::workload {
namespace {

using namespace onnx_rule;

OnnxValue reshape(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
  auto shape = parameter(node, in, 1, "shape");
  if (!x.dims || !shape) {
    return with_dims(x, std::nullopt);
  }
  std::int64_t all = 1, known = 1;
  for (const std::int64_t extent : *x.dims) {
    all = extent_product({all, extent});
  }
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] == 0 && i < x.dims->size()) {
      (*shape)[i] = (*x.dims)[i];
    }
    if ((*shape)[i] == -1) {
      open = i;
    } else {
      known = extent_product({known, (*shape)[i]});
    }
  }
  if (open && known > 0) {
    (*shape)[*open] = all / known;
  }
  OnnxValue value = with_dims(x, shape);
  value.integers = x.integers;
  return value;
}

OnnxValue flatten(const OnnxNode& node, const Inputs& in) {
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
    part = extent_product({part, (*x)[static_cast<std::size_t>(i)]});
  }
  return with_dims(at(in, 0), dims);
}

OnnxValue transpose(const OnnxNode& node, const Inputs& in) {
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

OnnxValue concat(const OnnxNode& node, const Inputs& in) {
  OnnxValue value = with_dims(at(in, 0), at(in, 0).dims);
  Dims integers = at(in, 0).integers.value_or(Dims());
  bool all = at(in, 0).integers.has_value();
  for (std::size_t i = 1; i < in.size(); ++i) {
    const auto axis =
        value.dims ? axis_of(node.integer("axis", 0), size(*value.dims)) : std::nullopt;
    const bool fits = axis && in[i].dims && in[i].dims->size() == value.dims->size();
    if (!fits) {
      return with_dims(value, std::nullopt);
    }
    (*value.dims)[*axis] += (*in[i].dims)[*axis];
    all = all && in[i].integers && integers.size() + in[i].integers->size() <= kMaxIntegers;
    if (all) {
      integers.insert(integers.end(), in[i].integers->begin(), in[i].integers->end());
    }
  }
  if (all) {
    value.integers = integers;
  }
  return value;
}

OnnxValue gather(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
  const OnnxValue& index = at(in, 1);
  if (!x.dims || !index.dims) {
    return with_dims(x, std::nullopt);
  }
  const auto axis = axis_of(node.integer("axis", 0), size(*x.dims));
  if (!axis) {
    return with_dims(x, std::nullopt);
  }
  Dims dims(x.dims->begin(), x.dims->begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), index.dims->begin(), index.dims->end());
  dims.insert(dims.end(), x.dims->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.dims->end());
  OnnxValue value = with_dims(x, dims);
  if (x.integers && index.integers) {
    Dims values;
    for (const std::int64_t i : *index.integers) {
      const auto place = axis_of(i, size(*x.integers));
      values.push_back(place ? (*x.integers)[*place] : 0);
    }
    value.integers = values;
  }
  value.constant = x.constant && index.constant;
  return value;
}

OnnxValue unsqueeze(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
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
  OnnxValue value = with_dims(x, dims);
  value.integers = x.integers;
  return value;
}

OnnxValue squeeze(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
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
  OnnxValue value = with_dims(x, dims);
  value.integers = x.integers;
  return value;
}

OnnxValue slice(const OnnxNode& node, const Inputs& in) {
  const OnnxValue& x = at(in, 0);
  const auto starts = parameter(node, in, 1, "starts");
  const auto ends = parameter(node, in, 2, "ends");
  if (!x.dims || !starts || !ends || starts->size() != ends->size()) {
    return with_dims(x, std::nullopt);
  }
  const auto axes = parameter(node, in, 3, "axes");
  const auto steps = parameter(node, in, 4, "steps");
  OnnxValue value = with_dims(x, x.dims);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t given = axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i);
    const auto axis = axis_of(given, size(*x.dims));
    const std::int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
    if (!axis || step < 1) {
      return with_dims(x, std::nullopt);
    }
    const std::int64_t extent = (*x.dims)[*axis];
    const auto bounded = [extent](std::int64_t place) {
      return std::clamp<std::int64_t>(place < 0 ? place + extent : place, 0, extent);
    };
    const std::int64_t begin = bounded((*starts)[i]);
    const std::int64_t end = std::max(begin, bounded((*ends)[i]));
    (*value.dims)[*axis] = (end - begin + step - 1) / step;
    if (x.integers && x.dims->size() == 1 && size(*x.integers) == extent) {
      Dims values;
      for (std::int64_t at_place = begin; at_place < end; at_place += step) {
        values.push_back((*x.integers)[static_cast<std::size_t>(at_place)]);
      }
      value.integers = values;
    }
  }
  return value;
}

OnnxValue expand(const OnnxNode& /*node*/, const Inputs& in) {
  const auto& x = at(in, 0).dims;
  const auto& to = at(in, 1).integers;
  return with_dims(at(in, 0), x && to ? broadcast(*x, *to) : std::nullopt);
}

OnnxValue tile(const OnnxNode& /*node*/, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const auto& repeats = at(in, 1).integers;
  if (!dims || !repeats || repeats->size() != dims->size()) {
    return with_dims(at(in, 0), std::nullopt);
  }
  for (std::size_t i = 0; i < dims->size(); ++i) {
    (*dims)[i] = extent_product({(*dims)[i], (*repeats)[i]});
  }
  return with_dims(at(in, 0), dims);
}

OnnxValue pad(const OnnxNode& node, const Inputs& in) {
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

OnnxValue space(const OnnxNode& node, const Inputs& in) {
  auto dims = at(in, 0).dims;
  const std::int64_t block = node.integer("blocksize", 0);
  if (!dims || dims->size() != 4 || block < 1 || block > kMaxExtent) {
    return with_dims(at(in, 0), std::nullopt);
  }
  const bool to_depth = node.op == "SpaceToDepth";
  const std::int64_t square = extent_product({block, block});
  if (square == 0) {
    return with_dims(at(in, 0), std::nullopt);
  }
  (*dims)[1] = to_depth ? extent_product({(*dims)[1], square}) : (*dims)[1] / square;
  for (const std::size_t axis : {std::size_t{2}, std::size_t{3}}) {
    (*dims)[axis] = to_depth ? (*dims)[axis] / block : extent_product({(*dims)[axis], block});
  }
  return with_dims(at(in, 0), dims);
}

}  // namespace

void add_arrangement_rules(OnnxRules& rules) {
  rules.insert({{"Reshape", reshape},
                {"Flatten", flatten},
                {"Transpose", transpose},
                {"Concat", concat},
                {"Gather", gather},
                {"Unsqueeze", unsqueeze},
                {"Squeeze", squeeze},
                {"Slice", slice},
                {"Expand", expand},
                {"Tile", tile},
                {"Pad", pad},
                {"DepthToSpace", space},
                {"SpaceToDepth", space}});
}

}  // namespace sptc::workload
