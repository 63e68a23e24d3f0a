// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_products.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sptc::workload::profile {
namespace {

using Extents = std::vector<std::int64_t>;

/// One extent for all axes means the same for each.
std::optional<Extents> per_axis(const TorchCall& call, std::size_t index, std::size_t axes) {
  auto values = index < call.values.size() ? integers_of(call.values[index]) : std::nullopt;
  if (values && values->size() == 1) {
    values->resize(axes, values->front());
  }
  return values && values->size() == axes ? values : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int64_t>> integers_of(std::string_view text) {
  Extents values;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    if ((*at >= '0' && *at <= '9') || *at == '-') {
      std::int64_t value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc()) {
        return std::nullopt;
      }
      values.push_back(value);
      at = next;
    } else if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return values.empty() ? std::nullopt : std::optional(values);
}

void read_convolution(const TorchCall& call, std::size_t pad_input, std::size_t stride_input,
                      RecordedLaunch& launch) {
  const Extents& x = call.input(0);
  const Extents& w = call.input(1);
  launch.weight = true;
  if (x.size() < 3 || x.size() > 5 || x.size() != w.size()) {
    launch.reason = call.dims.empty() ? "no shapes: record with record_shapes=True"
                                      : "no shapes of a convolution";
    return;
  }
  const std::size_t axes = x.size() - 2;
  const std::size_t after = std::max(pad_input, stride_input) + 1;
  const auto pad = per_axis(call, pad_input, axes);
  const auto stride = per_axis(call, stride_input, axes);
  const auto dilation = per_axis(call, after, axes);
  const auto groups = per_axis(call, after + 1, 1);
  if (!pad || !stride || !dilation || !groups) {
    launch.reason = "stride and padding of this convolution are not recorded";
    return;
  }
  ConvGeometry conv;
  conv.n = x[0];
  conv.c = x[1];
  conv.k = w[0];
  conv.groups = groups->front();
  const auto axis = [&](std::size_t i, std::int64_t& extent, std::int64_t& filter, std::size_t to) {
    extent = x[2 + i];
    filter = w[2 + i];
    conv.pad[to] = (*pad)[i];
    conv.stride[to] = (*stride)[i];
    conv.dilation[to] = (*dilation)[i];
  };
  if (axes == 1) {
    conv.h = conv.r = 1;
  } else {
    axis(axes - 2, conv.h, conv.r, 0);
  }
  axis(axes - 1, conv.w, conv.s, 1);
  bool fits = lower_convolution(conv, launch.op);
  if (fits && axes == 3) {  // one more axis: as a GEMM without geometry
    Operation depth;
    ConvGeometry line;
    line.n = line.c = line.k = line.w = line.s = 1;
    axis(0, line.h, line.r, 0);
    std::swap(conv.pad, line.pad);
    std::swap(conv.stride, line.stride);
    std::swap(conv.dilation, line.dilation);
    line.pad[1] = 0;
    line.stride[1] = line.dilation[1] = 1;
    fits = lower_convolution(line, depth);
    launch.op.shape.n = extent_product({launch.op.shape.n, depth.shape.n});
    launch.op.shape.k = extent_product({launch.op.shape.k, line.r});
    launch.op.conv.reset();
    fits = fits && launch.op.shape.n > 0 && launch.op.shape.k > 0;
  }
  if (!fits) {
    launch.op.shape = {};
    launch.op.batch = 1;
    launch.op.conv.reset();
    launch.reason = "the geometry of this convolution gives no GEMM";
  }
}

}  // namespace sptc::workload::profile
