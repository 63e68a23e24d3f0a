// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/passage_memo.h"

#include <algorithm>
#include <utility>

namespace sptc::tensor_core {

const PassageTable::Known* PassageTable::find(int state, std::int64_t since, std::uint64_t demand) {
  std::vector<Known>& all = of(state).known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].since == since && all[i].demand == demand) {
      if (i == 0) {
        return &all[i];
      }
      std::swap(all[i], all[i - 1]);
      return &all[i - 1];
    }
  }
  return nullptr;
}

int PassageTable::state_of(Backlog after) {
  const auto [entry, added] = state_of_.emplace(after.left, static_cast<int>(states_.size()));
  if (added) {
    states_.push_back({std::move(after), {}});
  }
  return entry->second;
}

const Passage* PassageMemo::find(std::int64_t arrival, std::uint64_t demand) {
  asked_ = PassageTable::kUnknown;
  if (state_ == PassageTable::kUnknown) {
    return nullptr;
  }
  arrival_ = std::max(arrival, latest_);  // one behind the other
  demand_ = demand;
  since_ = arrival_ - latest_;
  asked_ = state_;
  if (since_ >= table_->backlog(state_).cycles) {
    since_ = 0;
    asked_ = PassageTable::kIdle;
  }
  const PassageTable::Known* const known = table_->find(asked_, since_, demand_);
  if (known == nullptr) {
    return nullptr;
  }
  found_ = {arrival_ + known->passage.operands_read, arrival_ + known->passage.done};
  latest_ = found_.operands_read;
  state_ = known->state;
  return &found_;
}

void PassageMemo::learn(const Passage& passage, Backlog after) {
  if (table_->full()) {
    use(std::make_shared<PassageTable>());
    asked_ = PassageTable::kUnknown;
  }
  state_ = table_->state_of(std::move(after));
  latest_ = passage.operands_read;
  if (asked_ != PassageTable::kUnknown) {
    table_->learn(asked_, {since_, demand_, {passage.operands_read - arrival_, passage.done - arrival_}, state_});
  }
}

}  // namespace sptc::tensor_core
