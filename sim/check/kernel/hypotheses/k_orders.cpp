// SPDX-License-Identifier: Apache-2.0
//
// Another order of the sums along K: slices and their reduction, decreasing K, the place of C.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr int kMaxSlices = 16;

/// `order` with every reduction that can differ, with and without C in the epilogue; `text` goes in front of its name.
void add_reductions(const Trial& at, bool has_c, const char* cause, const std::string& text, KOrder order,
                    Proposals& proposals) {
  using enum Reduction;
  const bool rounds_in_d = at.data().d_type != at.model().rules.output;
  for (const bool epilogue : {false, true}) {
    for (const Reduction reduction : {kSerial, kParallel, kSerialReversed, kParallelReversed, kTree}) {
      const bool reversed = reduction == kSerialReversed || reduction == kParallelReversed;
      const bool parallel = reduction == kParallel || reduction == kParallelReversed;
      const bool same_as_serial = parallel && !rounds_in_d && !has_c;
      const bool same_as_forward = order.slices == 2 && !has_c && reversed;
      const bool same_as_parallel = order.slices < 4 && reduction == kTree;
      if ((epilogue && !has_c) || same_as_serial || same_as_forward || same_as_parallel) {
        continue;
      }
      order.reduction = reduction;
      order.c_in_epilogue = epilogue;
      const char* const where_c = !has_c     ? ""
                                  : epilogue ? ", C added in the epilogue"
                                             : ", the first slice starts from C";
      proposals.add_model(cause, fmt::format("{} '{}'{}", text, name(reduction), where_c), at.model(),
                          [&](KernelModel& model) { model.order = order; });
    }
  }
}

/// Contiguous slices by their length, then interleaved ones.
void add_slices(const Trial& at, bool has_c, Proposals& proposals) {
  const auto k = static_cast<int>(std::min<std::size_t>(at.data().k, 1U << 28U));
  const int depth = at.model().instruction.shape.k;
  const auto add = [&](int slices, int granule, bool interleaved) {
    KOrder order = at.model().order;
    order.slices = slices;
    order.granule = granule;
    order.interleaved = interleaved;
    const std::string what = interleaved ? fmt::format("sliced-K: {} accumulators take turns of {} k", slices, granule)
                             : slices > kMaxSlices ? fmt::format("accumulators are promoted every {} k", granule)
                                                   : fmt::format("split-K of {} slices of {} k", slices, granule);
    add_reductions(at, has_c, "split-k", what + ", reduction", order, proposals);
  };
  std::set<int> lengths;
  const auto add_contiguous = [&](int length) {
    if (length < k && lengths.insert(length).second) {
      add((k + length - 1) / length, length, false);
    }
  };
  const auto whole = [](int length, int of) { return (length + of - 1) / of * of; };
  for (int slices = 2; slices <= kMaxSlices; ++slices) {
    for (const int unit : {depth, 32, 64, 128}) {
      const int granule = whole(unit, depth), granules = whole(k, granule) / granule;
      add_contiguous(whole(granules, slices) / slices * granule);
    }
  }
  for (const int length : {32, 64, 128, 256, 512}) {
    add_contiguous(whole(length, depth));
  }
  for (const int slices : {2, 4, 8}) {
    for (const int steps : {1, 2, 4}) {
      if (slices * steps * depth <= k) {
        add(slices, steps * depth, true);
      }
    }
  }
}

}  // namespace

Proposals k_orders(const Trial& at) {
  const KernelModel& from = at.model();
  const KOrder& own = from.order;
  const auto& c = at.data().c;
  const bool has_c = c && std::ranges::any_of(c->words, [](numerics::Word word) { return word != 0; });
  Proposals proposals;
  if (from.rules.is_integer()) {
    return proposals;  // any order has the same sum
  }
  if (has_c) {
    proposals.add_model("c-place",
                        own.c_in_epilogue ? "the accumulators start from C, which is not added at the end"
                                          : "C is added in the epilogue, not in the accumulator",
                        from, [](KernelModel& model) { model.order.c_in_epilogue = !model.order.c_in_epilogue; });
  }
  if (own.slices > 1) {
    proposals.add_model("split-k", "one accumulator for all of K (no split-K)", from,
                        [&](KernelModel& model) { model.order = {.c_in_epilogue = own.c_in_epilogue}; });
    add_reductions(at, has_c, "reduction-order", fmt::format("the {} slices are reduced in the order", own.slices), own,
                   proposals);
  }
  add_slices(at, has_c, proposals);
  proposals.add_model("k-order", "K runs in decreasing steps", from,
                      [](KernelModel& model) { model.order.decreasing = !model.order.decreasing; });
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
