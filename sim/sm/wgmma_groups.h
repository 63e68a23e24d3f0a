// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <cstdint>
#include <deque>

namespace sptc::sm {

/// The asynchronous matrix instructions of one warp: how many are under way, and in which groups
/// the program has put them. They complete in the order in which they were issued.
class WgmmaGroups {
 public:
  void issue() { ++issued_; }
  /// Everything issued since the last commit is a group, an empty one too.
  void commit() {
    if (issued_ > completed_) {
      group_ends_.push_back(issued_);
    }
  }
  void complete() {
    base::ensure(completed_ < issued_, "a wgmma completed that nobody issued");
    ++completed_;
    while (!group_ends_.empty() && group_ends_.front() <= completed_) {
      group_ends_.pop_front();
    }
  }

  int groups_under_way() const { return static_cast<int>(group_ends_.size()); }
  bool idle() const { return completed_ == issued_; }

 private:
  std::int64_t issued_ = 0;
  std::int64_t completed_ = 0;
  std::deque<std::int64_t> group_ends_;  ///< instructions issued up to the end of each group
};

}  // namespace sptc::sm
