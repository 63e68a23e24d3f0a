// SPDX-License-Identifier: Apache-2.0
//
// Elements of A or B along K that stand in another order within each fragment, everywhere in the same way.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals k_permutations(const Trial& at) {
  struct Order {
    std::string text;
    std::size_t width;
    std::function<std::size_t(std::size_t)> source;  ///< of the place within `width`
  };
  std::vector<Order> orders;
  // A fragment of height x width that is read along its other side.
  for (const std::size_t all : {4U, 8U, 16U, 32U, 64U}) {
    for (std::size_t height = 2; height < all; height *= 2) {
      orders.push_back(
          {fmt::format("of every {} k element i is {} (i % {}) + i / {}", all, all / height, height, height), all,
           [=](std::size_t i) { return i % height * (all / height) + i / height; }});
    }
    orders.push_back({fmt::format("every {} k run backwards", all), all, [=](std::size_t i) { return all - 1 - i; }});
  }
  for (const std::size_t unit : {1U, 2U, 4U, 8U, 16U}) {
    orders.push_back({fmt::format("of every {} elements along k both halves are exchanged", 2 * unit), 2 * unit,
                      [=](std::size_t i) { return i ^ unit; }});
  }
  // Pairs (or quads) of one lane that another order of registers has: 0 1 8 9 2 3 10 11 of 16.
  for (const std::size_t all : {16U, 32U}) {
    const std::size_t unit = all / 8;
    orders.push_back({fmt::format("of every {0} k units of {1} stand as 0, 4, 1, 5, 2, 6, 3, 7", all, unit), all,
                      [=](std::size_t i) { return (i / unit % 2 * 4 + i / unit / 2) * unit + i % unit; }});
    orders.push_back({fmt::format("of every {0} k units of {1} stand as 0, 2, 4, 6, 1, 3, 5, 7", all, unit), all,
                      [=](std::size_t i) { return (i / unit % 4 * 2 + i / unit / 4) * unit + i % unit; }});
  }
  Proposals proposals;
  const bool is_sparse = at.kernel().model.instruction.sparse;
  for (const bool of_a : {true, false}) {
    for (const auto& [text, width, source] : orders) {
      proposals.list.push_back(moved(at.kernel(), {.values = of_a, .b = !of_a}, "permuted-fragments",
                                     fmt::format("{}: {}",
                                                 !of_a       ? "B"
                                                 : is_sparse ? "the values of A"
                                                             : "A",
                                                 text),
                                     [width, from = source](std::size_t line, std::size_t k) {
                                       return std::pair(line, k / width * width + from(k % width));
                                     }));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
