// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/tensor_core/backlog.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sptc::tensor_core {

/// Cycles of an instruction in the tensor core.
struct Passage {
  std::int64_t operands_read = 0;  ///< its source registers are free
  std::int64_t done = 0;           ///< D is complete
};

/// Passages that a tensor core has computed. What an instruction meets repeats from k-tile to
/// k-tile: where the limiters have as much left to do as once before, and the instruction comes as
/// many cycles behind the one before, it takes as long. (Memoization of a processor's states:
/// Schnarr and Larus, Fast out-of-order processor simulation using memoization, ASPLOS 1998.)
class PassageMemo {
 public:
  /// The passage of an instruction that comes in cycle `arrival` and takes of the register banks
  /// what `demand` stands for; null: not known. The next call is about the instruction behind it.
  const Passage* find(std::int64_t arrival, std::uint64_t demand);

  /// What the latest find() did not know: `after` is left behind the start of `passage`.
  void learn(const Passage& passage, Backlog after);

  /// What is left behind latest(); null: that is not known.
  const Backlog* backlog() const {
    return state_ == kUnknown ? nullptr : &states_[static_cast<std::size_t>(state_)].backlog;
  }
  std::int64_t latest() const { return latest_; }

  /// From here on instructions are of another kind: forgets all.
  void clear();
  /// Somebody else uses the limiters.
  void lose_track() { state_ = kUnknown; }

 private:
  static constexpr int kUnknown = -1;
  static constexpr std::size_t kMostStates = 4096;

  /// Cycles count from the arrival of the instruction.
  struct Known {
    std::int64_t since = 0;  ///< cycles from the start of the one before
    std::uint64_t demand = 0;
    Passage passage;
    int state = kUnknown;  ///< behind it
  };
  struct State {
    Backlog backlog;
    std::vector<Known> known;
  };

  int state_of(Backlog after);

  std::vector<State> states_;
  State idle_;  ///< nothing is left
  std::map<std::vector<std::int64_t>, int> state_of_;
  int state_ = kUnknown;
  std::int64_t latest_ = 0;
  // Of the latest find().
  State* asked_ = nullptr;
  std::int64_t arrival_ = 0;
  std::int64_t since_ = 0;
  std::uint64_t demand_ = 0;
  Passage found_;
};

}  // namespace sptc::tensor_core
