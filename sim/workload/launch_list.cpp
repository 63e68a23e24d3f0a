// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/launch_list.h"

#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"

#include <algorithm>

namespace sptc::workload {
namespace {

constexpr std::string_view kNoTensorCoreType = "type that no simulated tensor core kernel takes";

void require_extent(const std::string& place, const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > kMaxExtent) {
    io::refuse("{}: {} must be from {} to {}, not {}", place, what, least, kMaxExtent, value);
  }
}

[[noreturn]] void fail_without_launch(const Recording& recording, const std::string& name) {
  const std::string& format = recording.account.format;
  std::map<std::string, std::int64_t> reasons;
  for (const NotTaken& launch : recording.workload.not_taken) {
    const bool stands_elsewhere = launch.reason.starts_with(kAnotherStep) || launch.reason.starts_with(kAnotherBranch);
    reasons[launch.reason] += stands_elsewhere ? 0 : launch.count;
  }
  const auto most = std::ranges::max_element(reasons, {}, [](const auto& reason) { return reason.second; });
  if (most == reasons.end()) {
    io::refuse("{}: no GEMM was found in this {}", name, format);
  }
  io::refuse("{}: no launch of this {} can be simulated; the most frequent reason: {}", name, format, most->first);
}

/// What equal launches share: those that a library runs in different ways are not equal.
std::string key_of(const RecordedLaunch& launch) {
  const Operation& op = launch.op;
  const Recorded& recorded = op.recorded;
  const std::string_view weight = op.storage.weight ? numerics::name(*op.storage.weight) : "";
  const std::string geometry =
      op.conv ? fmt::format("{}x{} {}x{}", op.conv->h, op.conv->w, op.conv->r, op.conv->s) : "";
  return fmt::format("{}\n{} {} {} {} {}\n{}\n{} {}\n{} {} {} {} {} {} {}\n{} {}\n{}\n{}", op.name, op.shape.m,
                     op.shape.n, op.shape.k, op.batch, launch.weight, launch.dtype, recorded.d_dtype, recorded.sparse,
                     recorded.tile.m, recorded.tile.n, recorded.tile.k, recorded.stages, recorded.split_k,
                     recorded.epilogue, recorded.adds_c, weight, op.storage.scale_block, geometry, launch.reason);
}

}  // namespace

std::int64_t extent_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 1 || factor > kMaxExtent / product) {
      return 0;
    }
    product *= factor;
  }
  return product;
}

bool lower_convolution(const ConvGeometry& conv, Operation& op) {
  for (const std::int64_t extent : {conv.n, conv.c, conv.h, conv.w, conv.k, conv.r, conv.s, conv.stride[0],
                                    conv.stride[1], conv.dilation[0], conv.dilation[1], conv.groups}) {
    if (extent < 1 || extent > kMaxExtent) {
      return false;
    }
  }
  const auto output = [&](std::int64_t extent, std::int64_t filter, std::size_t axis) {
    const std::int64_t pad = std::clamp<std::int64_t>(conv.pad[axis], 0, kMaxExtent);
    const std::int64_t room = extent + 2 * pad - conv.dilation[axis] * (filter - 1) - 1;
    return pad != conv.pad[axis] || room < 0 ? 0 : room / conv.stride[axis] + 1;
  };
  ConvGeometry whole = conv;
  whole.p = output(conv.h, conv.r, 0);
  whole.q = output(conv.w, conv.s, 1);
  if (whole.p == 0 || whole.q == 0 || conv.c % conv.groups != 0 || conv.k % conv.groups != 0) {
    return false;
  }
  op.shape = {conv.k / conv.groups, extent_product({conv.n, whole.p, whole.q}),
              extent_product({conv.r, conv.s, conv.c / conv.groups})};
  op.batch = conv.groups;
  op.conv = whole;
  return op.shape.n > 0 && op.shape.k > 0;
}

void LaunchList::add(RecordedLaunch launch, const std::string& place) {
  Operation& op = launch.op;
  op.name = op.name.empty() ? "unnamed" : op.name;
  // A recording may not say the shape of a launch that is not taken.
  const std::int64_t least = launch.reason.empty() ? 1 : 0;
  require_extent(place, "m", op.shape.m, least);
  require_extent(place, "n", op.shape.n, least);
  require_extent(place, "k", op.shape.k, least);
  require_extent(place, "the batch", op.batch, 1);
  require_extent(place, "the number of launches", op.count, 1);
  if (!(op.recorded.time_us >= 0 && op.recorded.time_us <= kMaxRecordedUs)) {
    io::refuse("{}: a launch takes from 0 to {} us, not {}", place, kMaxRecordedUs, op.recorded.time_us);
  }
  if (launch.reason.empty()) {
    const auto type = parse_operand_type(launch.dtype);
    if (!type) {
      launch.reason = kNoTensorCoreType;
    } else {
      op.dtype = *type;
      launch.reason = kernels::impossible_storage(op.storage, *type);
    }
  }
  const auto [found, is_new] = places_.emplace(key_of(launch), launches_.size());
  if (is_new) {
    launches_.push_back({launch, 0, 0});
    taken_ += launch.reason.empty() ? 1 : 0;
    launches_.back().launch.op.count = 0;
  }
  Sum& sum = launches_[found->second];
  sum.launch.op.count += op.count;
  require_extent(place, "the number of launches", sum.launch.op.count, 1);
  if (op.recorded.time_us > 0) {
    sum.time_us += op.recorded.time_us * static_cast<double>(op.count);
    sum.timed += op.count;
  }
}

void LaunchList::move_to(Recording& recording, const std::string& name) && {
  std::int64_t macs = 0;
  for (Sum& sum : launches_) {
    Operation& op = sum.launch.op;
    op.recorded.time_us = sum.timed > 0 ? sum.time_us / static_cast<double>(sum.timed) : 0;
    if (!sum.launch.reason.empty()) {
      // Over all of them: some may have had no kernel.
      const double mean_us = sum.time_us / static_cast<double>(op.count);
      recording.workload.not_taken.push_back(
          {op.name, op.shape, op.batch, sum.launch.dtype, op.count, mean_us, sum.launch.reason});
      continue;
    }
    op.weight = sum.launch.weight;
    op.prunable = op.weight && asp_eligible(op);
    if (!add_macs(macs, op)) {
      io::refuse("{}: m*n*k*batch*count, summed over the launches, exceeds 64 bits", name);
    }
    recording.workload.operations.push_back(std::move(op));
  }
  if (recording.workload.operations.empty()) {
    fail_without_launch(recording, name);
  }
}

std::int64_t recorded_integer(std::string_view text, const std::string& place, std::string_view what) {
  std::int64_t value = 0;
  if (!io::parse_whole(text, value)) {
    io::refuse("{}: {} must be an integer, not '{}'", place, what, io::printable(text));
  }
  return value;
}

}  // namespace sptc::workload
