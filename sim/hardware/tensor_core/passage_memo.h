// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/throughput.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
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
  void learn(int state, const Known& known) { of(state).known.push_back(known); }

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
  void use(std::shared_ptr<PassageTable> table) {
    table_ = std::move(table);
    lose_track();
  }
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
