// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/tensor_core/backlog.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace sptc::tensor_core {

/// Cycles of an instruction in the tensor core.
struct Passage {
  std::int64_t operands_read = 0;  ///< its source registers are free
  std::int64_t done = 0;           ///< D is complete
};

/// Passages that tensor cores of one kind have computed, of instructions of one kind. What an
/// instruction meets repeats from k-tile to k-tile, and from tensor core to tensor core: where the
/// limiters have as much left to do as once before, and the instruction comes as many cycles behind
/// the one before, it takes as long. (Memoization of a processor's states: Schnarr and Larus, Fast
/// out-of-order processor simulation using memoization, ASPLOS 1998.)
class PassageTable {
 public:
  static constexpr int kUnknown = -1;
  static constexpr int kIdle = 0;  ///< nothing is left

  /// Cycles count from the arrival of the instruction.
  struct Known {
    std::int64_t since = 0;  ///< cycles from the start of the one before
    std::uint64_t demand = 0;
    Passage passage;
    int state = kUnknown;  ///< behind it
  };

  /// What an instruction in state `state` takes that comes `since` cycles behind the one before and
  /// takes of the register banks what `demand` stands for; null: not known.
  const Known* find(int state, std::int64_t since, std::uint64_t demand);
  void learn(int state, const Known& known);

  /// The state of `after`, a new one where there is none.
  int state_of(Backlog after);
  const Backlog& backlog(int state) const { return of(state).backlog; }
  bool full() const { return states_.size() >= kMostStates; }

 private:
  static constexpr std::size_t kMostStates = 4096;

  struct State {
    Backlog backlog;
    std::vector<Known> known;  ///< what is asked for often in front
  };
  const State& of(int state) const { return states_[static_cast<std::size_t>(state)]; }
  State& of(int state) { return states_[static_cast<std::size_t>(state)]; }

  std::vector<State> states_{1};
  std::map<std::vector<std::int64_t>, int> state_of_;
};

/// Where a tensor core is in a table that it may share with others.
class PassageMemo {
 public:
  /// The passage of an instruction that comes in cycle `arrival` and takes of the register banks
  /// what `demand` stands for; null: not known. The next call is about the instruction behind it.
  const Passage* find(std::int64_t arrival, std::uint64_t demand);

  /// What the latest find() did not know: `after` is left behind the start of `passage`.
  void learn(const Passage& passage, Backlog after);

  /// What is left behind latest(); null: that is not known.
  const Backlog* backlog() const { return state_ == PassageTable::kUnknown ? nullptr : &table_->backlog(state_); }
  std::int64_t latest() const { return latest_; }

  /// Instructions that follow are those of `table`.
  void use(std::shared_ptr<PassageTable> table);
  /// Forgets the state: somebody else uses the limiters.
  void lose_track() { state_ = PassageTable::kUnknown; }

 private:
  std::shared_ptr<PassageTable> table_ = std::make_shared<PassageTable>();
  int state_ = PassageTable::kUnknown;
  std::int64_t latest_ = 0;
  // What the latest find() asked for.
  int asked_ = PassageTable::kUnknown;
  std::int64_t arrival_ = 0;
  std::int64_t since_ = 0;
  std::uint64_t demand_ = 0;
  Passage found_;
};

}  // namespace sptc::tensor_core
