// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <array>
#include <cstddef>

namespace sptc::sm {

/// The asynchronous instructions of one kind of one warp, copies or matrix instructions, in groups as
/// cp.async.commit_group and wgmma.commit_group make them. Groups are complete in order: one whose instructions are
/// all done waits for the ones before it.
class AsyncGroups {
 public:
  static constexpr int kMaxGroups = 32;  ///< under way at once

  /// Adds an instruction to the open group; returns the group's number.
  int start() {
    ++pending_[slot(open_)];
    ++outstanding_;
    return open_;
  }

  /// Closes the open group and opens the next one.
  void commit() {
    ++open_;
    base::ensure(open_ - oldest_ < kMaxGroups, "a warp has too many asynchronous groups under way");
    retire();
  }

  /// Ends an instruction of `group`.
  void arrived(int group) {
    base::ensure(group >= oldest_ && pending_[slot(group)] > 0,
                 "an asynchronous instruction is done that nobody started");
    --pending_[slot(group)];
    --outstanding_;
    retire();
  }

  /// Ends the oldest instruction, of a kind that is done in order.
  void oldest_arrived() { arrived(oldest_); }

  /// Whether no more than `groups` of the committed groups are incomplete.
  bool at_most(int groups) const { return open_ - oldest_ <= groups; }
  /// Whether no instruction is under way.
  bool idle() const { return outstanding_ == 0; }
  /// How many groups are complete.
  int complete() const { return oldest_; }

 private:
  static std::size_t slot(int group) { return static_cast<std::size_t>(group % kMaxGroups); }

  void retire() {
    while (oldest_ < open_ && pending_[slot(oldest_)] == 0) {
      ++oldest_;
    }
  }

  std::array<int, kMaxGroups> pending_{};  ///< instructions of each group that are under way
  int oldest_ = 0;                         ///< first group that is not complete
  int open_ = 0;                           ///< group that is not committed yet
  int outstanding_ = 0;                    ///< instructions under way, of all groups
};

}  // namespace sptc::sm
