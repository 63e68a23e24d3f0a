// SPDX-License-Identifier: Apache-2.0
//
// Another order of the sums along K: slices and their reduction, decreasing K, the place of C.
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr int kMaxSlices = 16;

/// Collects orders of the sums along K that a kernel may have taken.
class KOrders {
 public:
  explicit KOrders(const Trial& at)
      : data_(at.kernel().data),
        from_(at.model()),
        has_c_(data_.c &&
               std::ranges::any_of(data_.c->words, [](numerics::Word word) { return word != 0; })) {
  }

  Proposals proposals;

  /// Whether C has a non-zero element.
  bool has_c() const { return has_c_; }
  void add(std::string_view cause, std::string text, const KOrder& order) {
    if (!(order == from_.order)) {
      KernelModel model = from_;
      model.order = order;
      proposals.add(cause, std::move(text), model);
    }
  }
  /// `order` with every reduction that can differ, with and without C in the epilogue; `text` goes
  /// in front of its name.
  void add_reductions(std::string_view cause, const std::string& text, KOrder order) {
    const bool rounds_in_d = data_.d_type != from_.rules.output;
    for (const bool epilogue : {false, true}) {
      if (epilogue && !has_c_) {
        continue;
      }
      for (const Reduction reduction :
           {Reduction::kSerial, Reduction::kParallel, Reduction::kSerialReversed,
            Reduction::kParallelReversed, Reduction::kTree}) {
        const bool reversed =
            reduction == Reduction::kSerialReversed || reduction == Reduction::kParallelReversed;
        const bool parallel =
            reduction == Reduction::kParallel || reduction == Reduction::kParallelReversed;
        const bool same_as_serial = parallel && !rounds_in_d && !has_c_;
        const bool same_as_forward = order.slices == 2 && !has_c_ && reversed;
        const bool same_as_parallel = order.slices < 4 && reduction == Reduction::kTree;
        if (same_as_serial || same_as_forward || same_as_parallel) {
          continue;
        }
        order.reduction = reduction;
        order.c_in_epilogue = epilogue;
        const char* const where_c = !has_c_    ? ""
                                    : epilogue ? ", C added in the epilogue"
                                               : ", the first slice starts from C";
        add(cause, fmt::format("{} '{}'{}", text, name(reduction), where_c), order);
      }
    }
  }
  /// Contiguous slices by their length, then interleaved ones.
  void add_slices() {
    const auto k = static_cast<int>(std::min<std::size_t>(data_.k, 1U << 28U));
    const int depth = from_.instruction.shape.k;
    std::set<int> lengths;
    std::vector<std::pair<int, int>> wanted;  // slices, length
    const auto want = [&](int slices, int length) {
      if (slices > 1 && length < k && lengths.insert(length).second) {
        wanted.emplace_back((k + length - 1) / length, length);
      }
    };
    for (int slices = 2; slices <= kMaxSlices; ++slices) {
      for (const int unit : {depth, 32, 64, 128}) {
        const int granule = (unit + depth - 1) / depth * depth;
        const int granules = (k + granule - 1) / granule;
        want(slices, (granules + slices - 1) / slices * granule);
      }
    }
    for (const int length : {32, 64, 128, 256, 512}) {
      want(kMaxSlices + 1, (length + depth - 1) / depth * depth);
    }
    for (const auto& [slices, length] : wanted) {
      add_sliced(slices, length, false);
    }
    for (const int slices : {2, 4, 8}) {
      for (const int steps : {1, 2, 4}) {
        if (slices * steps * depth <= k) {
          add_sliced(slices, steps * depth, true);
        }
      }
    }
  }

 private:
  void add_sliced(int slices, int granule, bool interleaved) {
    KOrder order = from_.order;
    order.slices = slices;
    order.granule = granule;
    order.interleaved = interleaved;
    const std::string what =
        interleaved ? fmt::format("sliced-K: {} accumulators take turns of {} k", slices, granule)
        : slices > kMaxSlices ? fmt::format("accumulators are promoted every {} k", granule)
                              : fmt::format("split-K of {} slices of {} k", slices, granule);
    add_reductions("split-k", what + ", reduction", order);
  }

  const KernelData& data_;
  const KernelModel& from_;
  bool has_c_;
};

}  // namespace

Proposals k_orders(const Trial& at) {
  KOrders orders(at);
  const KOrder& own = at.model().order;
  if (at.model().rules.is_integer()) {
    return {};  // any order has the same sum
  }
  if (orders.has_c()) {
    KOrder order = own;
    order.c_in_epilogue = !order.c_in_epilogue;
    orders.add("c-place",
               order.c_in_epilogue ? "C is added in the epilogue, not in the accumulator"
                                   : "the accumulators start from C, which is not added at the end",
               order);
  }
  if (own.slices > 1) {
    KOrder single;
    single.c_in_epilogue = own.c_in_epilogue;
    orders.add("split-k", "one accumulator for all of K (no split-K)", single);
    orders.add_reductions("reduction-order",
                          fmt::format("the {} slices are reduced in the order", own.slices), own);
  }
  orders.add_slices();
  KOrder backwards = own;
  backwards.decreasing = !backwards.decreasing;
  orders.add("k-order", "K runs in decreasing steps", backwards);
  return std::move(orders.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
