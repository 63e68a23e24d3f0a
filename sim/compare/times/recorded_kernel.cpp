// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/recorded_kernel.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sptc::compare::times {
namespace {

constexpr std::int64_t kMaxExtent = 1'000'000;
constexpr int kThreadsPerWarp = 32;
constexpr int kRowsOfWarp = 16;  // of a warp of wgmma

/// The numbers of "2x64x1", as many as there are; the rest is 1.
std::array<std::int64_t, 3> extents(std::string_view what, std::string_view text) {
  std::array<std::int64_t, 3> result{1, 1, 1};
  std::size_t i = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && i < result.size()) {
    const auto [next, error] = std::from_chars(at, end, result[i]);
    const bool bad = error != std::errc() || result[i] < 1 || result[i] > kMaxExtent ||
                     (next != end && *next != 'x');
    if (bad || next + 1 == end) {
      break;
    }
    at = next == end ? end : next + 1;
    ++i;
  }
  if (at != end || i == 0) {
    throw base::InputError(
        fmt::format("{} must be like 128x64x1, not '{}'", what, io::printable(text)));
  }
  return result;
}

bool has(std::string_view notes, std::string_view word) {
  return notes.find(word) != std::string_view::npos;
}

/// Of the ways to cut a tile of mma.sync into `warps`, the one whose pieces are most like squares.
base::GemmShape warp_tile(const base::GemmShape& cta, std::int64_t warps) {
  base::GemmShape best{0, 0, 0};
  for (std::int64_t across = 1; across <= warps; ++across) {
    if (warps % across != 0 || cta.n % across != 0 || cta.m % (warps / across) != 0) {
      continue;
    }
    const base::GemmShape piece{cta.m / (warps / across), cta.n / across, 0};
    const auto perimeter = piece.m + piece.n;
    if (best.m == 0 || perimeter < best.m + best.n ||
        (perimeter == best.m + best.n && piece.m > best.m)) {
      best = piece;
    }
  }
  return best;
}

}  // namespace

std::optional<kernels::KernelOverrides> recorded_kernel(const KernelFields& fields,
                                                        const base::GemmShape& shape) {
  if (fields.tile.empty()) {
    return std::nullopt;
  }
  const auto [m, n, k] = extents("tile", fields.tile);
  kernels::KernelOverrides kernel;
  kernel.search = true;
  kernel.cta_tile = base::GemmShape{m, n, k};
  kernel.split_k = 1;
  const bool registers = has(fields.notes, "mma.sync");
  kernel.family = registers ? mma::MmaFamily::kMma : mma::MmaFamily::kWgmma;
  kernel.transposed = fields.notes.ends_with("TNN") || has(fields.notes, "TNN ");
  if (registers) {
    const auto threads = extents("block", fields.block.empty() ? "128" : fields.block);
    kernel.warp_tile =
        warp_tile(*kernel.cta_tile, std::max<std::int64_t>(1, threads[0] / kThreadsPerWarp));
  } else {
    kernel.warp_tile =
        kernel.transposed ? base::GemmShape{m, kRowsOfWarp, 0} : base::GemmShape{kRowsOfWarp, n, 0};
  }
  if (!fields.stages.empty()) {
    const std::string_view digits = fields.stages.substr(0, fields.stages.find('.'));
    kernel.stages =
        static_cast<int>(std::min<std::int64_t>(extents("stages", digits)[0], kernels::kMaxStages));
  }
  if (!fields.cluster.empty()) {
    const auto [x, y, z] = extents("cluster", fields.cluster);
    kernel.cluster_ctas =
        static_cast<int>(std::min<std::int64_t>(x * y * z, kernels::kMaxClusterCtas));
  }
  if (has(fields.notes, "segment_k")) {
    kernel.decomposition = kernels::Decomposition::kStreamK;
  } else if (has(fields.notes, "splitK") && !fields.grid.empty()) {
    const auto [x, y, z] = extents("grid", fields.grid);
    const std::int64_t tiles = base::ceil_div(shape.m, m) * base::ceil_div(shape.n, n);
    kernel.split_k =
        static_cast<int>(std::clamp<std::int64_t>(x * y * z / tiles, 1, kernels::kMaxSplitK));
  }
  return kernel;
}

}  // namespace sptc::compare::times
