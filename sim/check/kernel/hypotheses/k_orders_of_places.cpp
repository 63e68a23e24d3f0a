// SPDX-License-Identifier: Apache-2.0
//
// K-tiles that are summed in another order, with the right ones of A and B together.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::int64_t kMostTiles = 256;

/// K in tiles of `tile` units, of which tile t is `source(t)`.
Hypothesis in_order(const WrongKernel& kernel, std::size_t tile, std::string text,
                    std::function<std::int64_t(std::int64_t)> source) {
  return {"k-order", std::move(text),
          [&kernel, tile, source = std::move(source)](KernelOperands& operands, const Selection&) {
            rearrange(operands, KTiles(kernel).moved(tile, true, true, source),
                      kernel.model.instruction);
          }};
}

}  // namespace

Proposals rotated_k(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const KTiles tiles(kernel);
  const std::size_t depth =
      static_cast<std::size_t>(kernel.model.instruction.shape.k) / tiles.unit();
  Proposals proposals;
  for (const std::size_t steps : {8U, 4U, 2U, 1U}) {
    const std::size_t tile = depth * steps;
    if (tile == 0 || tiles.units() / tile < 2 || tiles.units() % tile != 0) {
      continue;
    }
    const auto count = static_cast<std::int64_t>(tiles.units() / tile);
    for (std::int64_t by = 1; by < std::min(count, kMostTiles); ++by) {
      proposals.list.push_back(
          in_order(kernel, tile,
                   fmt::format("K is summed from k {} on and around its end",
                               static_cast<std::size_t>(by) * tile * tiles.unit()),
                   [=](std::int64_t t) { return (t + by) % count; }));
    }
    for (std::int64_t by = 1; by < count; by *= 2) {
      if (count % (2 * by) == 0) {
        proposals.list.push_back(
            in_order(kernel, tile,
                     fmt::format("K is summed in tiles of {} k in the order t ^ {}",
                                 tile * tiles.unit(), by),
                     [=](std::int64_t t) { return t ^ by; }));
      }
    }
  }
  return proposals;
}

// A tile whose K two CTAs share, cut where the work of one ends (stream-K): another k in each tile.
Proposals stream_k(const Trial& at) {
  constexpr int kMostCuts = 512;
  const KernelModel& from = at.model();
  const int depth = from.instruction.shape.k;
  const auto k = static_cast<int>(std::min<std::size_t>(at.kernel().data.k, 1U << 28U));
  Proposals proposals;
  if (from.rules.is_integer() || from.order.slices > 1) {
    return proposals;
  }
  // Work is shared in k-tiles, which are no smaller where there are many.
  int step = depth;
  while (k / step > kMostCuts) {
    step *= 2;
  }
  const bool rounds_in_d = at.kernel().data.d_type != from.rules.output;
  for (int cut = step; cut < k; cut += step) {
    for (const Reduction reduction : {Reduction::kSerial, Reduction::kParallel}) {
      if (reduction == Reduction::kParallel && !rounds_in_d) {
        continue;  // the same bits
      }
      KernelModel model = from;
      model.order.cut = cut;
      model.order.reduction = reduction;
      proposals.add("stream-k",
                    fmt::format("two accumulators share K, cut at k {} (stream-K), reduction '{}'",
                                cut, name(reduction)),
                    model);
    }
  }
  return proposals;
}

// A slice of K that the reduction adds twice.
Proposals repeated_slices(const Trial& at) {
  const int slices = at.model().order.slices;
  Proposals proposals;
  for (int slice = 0; slices > 1 && slice < slices; ++slice) {
    KernelModel model = at.model();
    model.order.repeated_slice = slice;
    proposals.add("doubled-k",
                  fmt::format("D has slice {} of the {} slices of K twice", slice, slices), model);
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
