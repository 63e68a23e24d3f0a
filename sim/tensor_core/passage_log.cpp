// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/passage_log.h"

#include <algorithm>

namespace sptc::tensor_core {

using Kind = LoggedStage::Kind;

void PassageLog::observe(int partition, const base::Clock& clock, const TensorCoreSpec& spec,
                         base::Wire<MmaIssue>& issue, TensorCore& core,
                         base::Wire<MmaDoneToken>& done) {
  issue.add_tap([this, partition, &clock](MmaIssue& token) {
    if (clock.now() < window_.first || clock.now() >= window_.last) {
      return;
    }
    const mma::MmaInstruction& instruction = token.context->instruction;
    if (kernels_.empty() || kernels_.back().instruction != instruction) {
      kernels_.push_back({instruction, clock.now()});
    }
    under_way_[{partition, token.id}] = instructions_.size();
    instructions_.push_back({partition,
                             token.warp_slot,
                             token.instruction->d.base,
                             kernels_.size() - 1,
                             clock.now(),
                             -1,
                             {}});
  });
  // A stage works in the cycles of the wire behind it.
  core.fetched.add_tap([this, partition, &clock, &spec](FetchedToken& token) {
    const std::int64_t read = clock.now();
    add(partition, token.issue.id,
        {Kind::kFetch, 0, read, read + spec.operand_fetch_latency_cycles - 1});
  });
  core.selected.add_tap([this, partition, &clock, &spec](SelectedToken& token) {
    add(partition, token.issue.id,
        {Kind::kSelect, token.step, clock.now(), clock.now() + spec.selector_latency_cycles});
  });
  core.products.add_tap([this, partition, &clock, &spec](ProductsToken& token) {
    add(partition, token.issue.id,
        {Kind::kMultiply, token.step, clock.now(), clock.now() + spec.multiply_latency_cycles});
  });
  core.sums.add_tap([this, partition, &clock, &spec](SumsToken& token) {
    const std::int64_t rounds = clock.now() + spec.align_add_latency_cycles;
    add(partition, token.issue.id, {Kind::kAlignAdd, token.step, clock.now(), rounds});
    add(partition, token.issue.id,
        {Kind::kRound, token.step, rounds, rounds + spec.round_latency_cycles});
  });
  done.add_tap([this, partition, &clock, &spec](MmaDoneToken& token) {
    const auto at = under_way_.find({partition, token.issue.id});
    if (at != under_way_.end()) {
      instructions_[at->second].done =
          clock.now() + spec.round_latency_cycles + spec.write_back_latency_cycles;
      under_way_.erase(at);
    }
  });
}

void PassageLog::add_stall(const LoggedStall& stall) {
  LoggedStall inside = stall;
  inside.begin = std::max(stall.begin, window_.first);
  inside.end = std::min(stall.end, window_.last);
  if (inside.begin >= inside.end) {
    return;
  }
  // The latest one of the same warp may go on.
  const auto key = std::pair(stall.partition, stall.warp_slot);
  const auto [latest, is_first] = latest_stall_.try_emplace(key, stalls_.size());
  if (!is_first) {
    LoggedStall& before = stalls_[latest->second];
    if (before.end == inside.begin && before.reason == inside.reason) {
      before.end = inside.end;
      return;
    }
    latest->second = stalls_.size();
  }
  stalls_.push_back(inside);
}

std::optional<std::size_t> PassageLog::begin_copy(const LoggedCopy& copy) {
  if (copy.begin < window_.first || copy.begin >= window_.last) {
    return std::nullopt;
  }
  copies_.push_back(copy);
  return copies_.size() - 1;
}

void PassageLog::end_copy(std::size_t place, std::int64_t cycle, std::string_view waited_for) {
  copies_[place].end = cycle;
  copies_[place].waited_for = waited_for;
}

void PassageLog::add_busy(LoggedBusy::Unit unit, std::int64_t begin, std::int64_t end) {
  begin = std::max(begin, window_.first);
  end = std::min(end, window_.last);
  if (begin >= end) {
    return;
  }
  std::optional<std::size_t>& latest = latest_busy_[static_cast<std::size_t>(unit)];
  if (latest && memory_busy_[*latest].end >= begin) {
    memory_busy_[*latest].end = std::max(memory_busy_[*latest].end, end);
    return;
  }
  latest = memory_busy_.size();
  memory_busy_.push_back({unit, begin, end});
}

void PassageLog::add_memory(const MemorySample& sample) {
  add_busy(LoggedBusy::Unit::kL2, sample.now, sample.l2_until);
  add_busy(LoggedBusy::Unit::kDram, sample.now, sample.dram_until);
  if (sample.now < window_.first || sample.now >= window_.last) {
    return;
  }
  const std::int64_t begin = sample.now / kMemoryBin * kMemoryBin;
  if (memory_bytes_.empty() || memory_bytes_.back().begin != begin) {
    memory_bytes_.push_back({begin, 0, 0, 0});
  }
  LoggedBytes& bin = memory_bytes_.back();
  bin.l2 += sample.bytes.l2;
  bin.dram_read += sample.bytes.dram_read;
  bin.dram_written += sample.bytes.dram_written;
}

void PassageLog::add(int partition, std::uint64_t id, const LoggedStage& stage) {
  const auto at = under_way_.find({partition, id});
  if (at != under_way_.end()) {
    instructions_[at->second].stages.push_back(stage);
  }
}

}  // namespace sptc::tensor_core
