// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace sptc::base {

/// What is to be done in which cycle; of a cycle in the order of its ranks, of a rank as it was put
/// in. Most of it comes within a few thousand cycles, each of which has a list of its own: putting
/// in and taking out cost about a quarter of what they do in a heap.
template <typename Item>
class CycleQueue {
 public:
  CycleQueue() { clear(); }

  void clear() {
    nodes_.clear();
    free_.clear();
    due_.clear();
    later_ = {};
    first_.fill(kNone);
    some_.fill(0);
    base_ = 0;
    next_ = kNever;
    turns_ = 0;
  }

  /// `cycle`: not before 0, the cycle of the item that was taken last, nor that of a take_before()
  /// with a rank.
  void push(std::int64_t cycle, int rank, const Item& item) {
    ensure(cycle >= base_, "something was to be done in a cycle that is over");
    const std::uint64_t turn = static_cast<std::uint64_t>(rank) << kTurnBits | turns_++;
    const std::uint32_t node = add({item, turn, kNone});
    if (cycle == base_ && !due_.empty()) {
      const auto before =
          std::find_if(due_.begin(), due_.end(), [&](const Due& due) { return due.first < turn; });
      due_.insert(before, {turn, node});
      return;
    }
    next_ = std::min(next_, cycle);
    if (cycle < lists_end()) {
      link(cycle, node);
    } else {
      later_.push({cycle, node});
    }
  }

  /// The cycle of the first item, or kNever.
  std::int64_t first_cycle() const { return due_.empty() ? next_ : base_; }

  /// Takes the first item, if it comes before `cycle`, or in it with a rank below `rank`. Whether
  /// there was one.
  bool take_before(std::int64_t cycle, int rank, Item& item) {
    if (due_.empty()) {
      if (next_ > cycle || (next_ == cycle && rank == 0)) {
        return false;
      }
      collect();
    }
    const auto [turn, node] = due_.back();
    if (base_ > cycle || (base_ == cycle && turn >> kTurnBits >= static_cast<unsigned>(rank))) {
      return false;
    }
    due_.pop_back();
    item = nodes_[node].item;
    free_.push_back(node);
    return true;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

 private:
  static constexpr std::size_t kCycles = 2048;  ///< from base_ on that have lists
  static constexpr std::size_t kWordBits = 64;
  static constexpr int kTurnBits = 40;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Node {
    Item item;
    std::uint64_t turn;  ///< rank, and how many were put in before
    std::uint32_t next;  ///< of the list
  };
  using Due = std::pair<std::uint64_t, std::uint32_t>;   ///< turn and node
  using Later = std::pair<std::int64_t, std::uint32_t>;  ///< cycle and node

  static std::size_t list_of(std::int64_t cycle) {
    return static_cast<std::size_t>(cycle) % kCycles;
  }

  std::int64_t lists_end() const { return base_ + static_cast<std::int64_t>(kCycles); }

  std::uint32_t add(const Node& node) {
    if (free_.empty()) {
      nodes_.push_back(node);
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    nodes_[at] = node;
    return at;
  }

  void link(std::int64_t cycle, std::uint32_t node) {
    const std::size_t list = list_of(cycle);
    nodes_[node].next = std::exchange(first_[list], node);
    some_[list / kWordBits] |= std::uint64_t{1} << list % kWordBits;
  }

  /// All of the next cycle that has any become due.
  void collect() {
    base_ = next_;
    for (; !later_.empty() && later_.top().first < lists_end(); later_.pop()) {
      link(later_.top().first, later_.top().second);
    }
    const std::size_t list = list_of(base_);
    for (std::uint32_t node = std::exchange(first_[list], kNone); node != kNone;
         node = nodes_[node].next) {
      due_.emplace_back(nodes_[node].turn, node);
    }
    some_[list / kWordBits] &= ~(std::uint64_t{1} << list % kWordBits);
    std::sort(due_.begin(), due_.end(), std::greater<>());
    next_ = first_listed();
    if (next_ == kNever && !later_.empty()) {
      next_ = later_.top().first;
    }
  }

  /// First cycle, from base_ on, with a list that is not empty.
  std::int64_t first_listed() const {
    const std::size_t start = list_of(base_), first_bit = start % kWordBits;
    // The first word comes twice: what is before the start is last.
    for (std::size_t i = 0; i <= some_.size(); ++i) {
      const std::size_t at = (start / kWordBits + i) % some_.size();
      const std::uint64_t word = i == 0 ? some_[at] >> first_bit << first_bit : some_[at];
      if (word != 0) {
        const std::size_t list = at * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
        return base_ + static_cast<std::int64_t>((list + kCycles - start) % kCycles);
      }
    }
    return kNever;
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;  ///< of the nodes
  std::vector<Due> due_;             ///< in cycle base_, the first one at the back
  std::array<std::uint32_t, kCycles> first_;
  std::array<std::uint64_t, kCycles / kWordBits> some_;  ///< in a list
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::int64_t base_ = 0;
  std::int64_t next_ = kNever;  ///< first cycle of those that are not due
  std::uint64_t turns_ = 0;
};

}  // namespace sptc::base
