// SPDX-License-Identifier: Apache-2.0
//
// K-tiles that are summed in another order, with the right ones of A and B together.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals rotated_k(const Trial& at) {
  constexpr std::size_t kMostTiles = 256;
  KMaps maps(at);
  const std::size_t units = maps.units(), unit = maps.unit();
  for (const std::size_t steps : {8U, 4U, 2U, 1U}) {
    const std::size_t tile = static_cast<std::size_t>(at.kernel().model.instruction.shape.k) / unit * steps;
    const std::size_t count = tile == 0 || units % tile != 0 ? 0 : units / tile;
    for (std::size_t by = 1; by < std::min(count, kMostTiles); ++by) {
      maps.add("k-order", fmt::format("K is summed from k {} on and around its end", by * tile * unit),
               {part_of_k(by * tile, units), part_of_k(0, by * tile)});
    }
    for (std::size_t by = 1; by < count; by *= 2) {
      if (count % (2 * by) == 0) {
        maps.add("k-order", fmt::format("K is summed in tiles of {} k in the order t ^ {}", tile * unit, by),
                 maps.moved(tile, true, true, [by](std::int64_t t) { return t ^ static_cast<std::int64_t>(by); }));
      }
    }
  }
  return std::move(maps.proposals);
}

// A tile whose K two CTAs share, cut where the work of one ends (stream-K): another k in each tile.
Proposals stream_k(const Trial& at) {
  constexpr int kMostCuts = 512;
  const KernelModel& from = at.model();
  const auto k = static_cast<int>(std::min<std::size_t>(at.data().k, 1U << 28U));
  const bool rounds_in_d = at.data().d_type != from.rules.output;
  Proposals proposals;
  if (from.rules.is_integer() || from.order.slices > 1) {
    return proposals;
  }
  // Work is shared in k-tiles, which are no smaller where there are many.
  int step = from.instruction.shape.k;
  while (k / step > kMostCuts) {
    step *= 2;
  }
  for (int cut = step; cut < k; cut += step) {
    for (const Reduction reduction : {Reduction::kSerial, Reduction::kParallel}) {
      if (reduction == Reduction::kSerial || rounds_in_d) {  // else the same bits
        proposals.add_model(
            "stream-k",
            fmt::format("two accumulators share K, cut at k {} (stream-K), reduction '{}'", cut, name(reduction)), from,
            [&](KernelModel& model) {
              model.order.cut = cut;
              model.order.reduction = reduction;
            });
      }
    }
  }
  return proposals;
}

// A slice of K that the reduction adds twice.
Proposals repeated_slices(const Trial& at) {
  const int slices = at.model().order.slices;
  Proposals proposals;
  for (int slice = 0; slices > 1 && slice < slices; ++slice) {
    proposals.add_model("doubled-k", fmt::format("D has slice {} of the {} slices of K twice", slice, slices),
                        at.model(), [&](KernelModel& model) { model.order.repeated_slice = slice; });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
