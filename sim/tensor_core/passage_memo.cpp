// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/passage_memo.h"

#include <algorithm>
#include <utility>

namespace sptc::tensor_core {

const Passage* PassageMemo::find(std::int64_t arrival, std::uint64_t demand) {
  asked_ = nullptr;
  if (state_ == kUnknown) {
    return nullptr;
  }
  arrival_ = std::max(arrival, latest_);  // one behind the other
  demand_ = demand;
  since_ = arrival_ - latest_;
  asked_ = &states_[static_cast<std::size_t>(state_)];
  if (since_ >= asked_->backlog.cycles) {
    since_ = 0;
    asked_ = &idle_;
  }
  for (const Known& known : asked_->known) {
    if (known.since == since_ && known.demand == demand_) {
      found_ = {arrival_ + known.passage.operands_read, arrival_ + known.passage.done};
      latest_ = found_.operands_read;
      state_ = known.state;
      return &found_;
    }
  }
  return nullptr;
}

void PassageMemo::learn(const Passage& passage, Backlog after) {
  if (states_.size() == kMostStates) {
    clear();
    asked_ = nullptr;
  }
  // States move when there is another one.
  const bool from_idle = asked_ == &idle_;
  const std::size_t before = static_cast<std::size_t>(state_);
  const bool known = asked_ != nullptr;
  state_ = state_of(std::move(after));
  latest_ = passage.operands_read;
  if (known) {
    State& asked = from_idle ? idle_ : states_[before];
    asked.known.push_back(
        {since_, demand_, {passage.operands_read - arrival_, passage.done - arrival_}, state_});
  }
}

int PassageMemo::state_of(Backlog after) {
  const auto [entry, added] = state_of_.emplace(after.left, static_cast<int>(states_.size()));
  if (added) {
    states_.push_back({std::move(after), {}});
  }
  return entry->second;
}

void PassageMemo::clear() {
  states_.clear();
  state_of_.clear();
  idle_.known.clear();
  state_ = kUnknown;
}

}  // namespace sptc::tensor_core
