// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace sptc::tensor_core {

/// What the limiters of a tensor core have left to do behind a cycle: all that the passage of the
/// next instruction depends on, beside what that asks for. The stages show their limiters to a
/// SaveBacklog or a LoadBacklog.
struct Backlog {
  std::vector<std::int64_t> left;
  std::int64_t cycles = 0;  ///< after which nothing is left
};

/// Takes the backlog of limiters down.
class SaveBacklog {
 public:
  explicit SaveBacklog(std::int64_t behind) : behind_(behind) {}

  void unit(const base::Throughput& unit) {
    const std::int64_t left = unit.left_behind(behind_);
    add(left, unit.cycles_of(left));
  }
  void cycle(std::int64_t cycle) {
    const std::int64_t left = std::max<std::int64_t>(0, cycle - behind_);
    add(left, left);
  }
  /// Room that is there, and that there will be; to be shown last.
  void credits(int there, const std::deque<std::int64_t>& cycles) {
    const auto later = std::upper_bound(cycles.begin(), cycles.end(), behind_);
    add(there + (later - cycles.begin()), 0);
    std::for_each(later, cycles.end(), [&](std::int64_t at) { cycle(at); });
  }

  Backlog backlog() && { return std::move(backlog_); }

 private:
  void add(std::int64_t left, std::int64_t cycles) {
    backlog_.left.push_back(left);
    backlog_.cycles = std::max(backlog_.cycles, cycles);
  }

  std::int64_t behind_;
  Backlog backlog_;
};

/// Makes limiters have a backlog left behind a cycle.
class LoadBacklog {
 public:
  LoadBacklog(const Backlog& backlog, std::int64_t behind) : left_(backlog.left), behind_(behind) {}

  void unit(base::Throughput& unit) { unit.set_left_behind(behind_, next()); }
  void cycle(std::int64_t& cycle) { cycle = behind_ + next(); }
  void credits(int& there, std::deque<std::int64_t>& cycles) {
    there = static_cast<int>(next());
    cycles.clear();
    while (index_ < left_.size()) {
      cycles.push_back(behind_ + next());
    }
  }

 private:
  std::int64_t next() { return left_[index_++]; }

  const std::vector<std::int64_t>& left_;
  std::size_t index_ = 0;
  std::int64_t behind_;
};

}  // namespace sptc::tensor_core
