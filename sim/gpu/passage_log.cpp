// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/passage_log.h"

#include "sim/gpu/gpu.h"

#include <algorithm>

namespace sptc::gpu {

void PassageLog::attach(Gpu& gpu) {
  sm::Sm& sm = *gpu.sms().front();
  int number = 0;
  for (const auto& partition : sm.sub_partitions) {
    observe_core(number, gpu.clock(), *partition);
    observe_stalls(number++, *partition);
  }
  observe_copies(gpu.clock(), sm);
  moved_ = {};
  gpu.observe_memory([this](std::int64_t now, const memory::MemoryActivity& activity) { add_memory(now, activity); });
}

void PassageLog::observe_core(int number, const base::Clock& clock, sm::SubPartition& partition) {
  partition.issue.add_tap([this, number, &clock](const tensor_core::MmaIssue& token) {
    if (!window_.has(clock.now())) {
      return;
    }
    const mma::MmaInstruction& instruction = token.context->instruction;
    if (kernels_.empty() || kernels_.back().instruction != instruction) {
      kernels_.push_back({instruction, clock.now()});
    }
    under_way_[{number, token.id}] = instructions_.size();
    instructions_.push_back(
        {number, token.warp_slot, token.instruction->d.base, kernels_.size() - 1, clock.now(), -1, {}});
  });
  tensor_core::TensorCore& core = partition.tensor_core;
  core.observe([this, number](std::uint64_t id, const tensor_core::StageWork& work) {
    if (const auto at = under_way_.find({number, id}); at != under_way_.end()) {
      instructions_[at->second].stages.push_back(work);
    }
  });
  const int to_result = core.spec().round_latency_cycles + core.spec().write_back_latency_cycles;
  partition.mma_done.add_tap([this, number, &clock, to_result](const tensor_core::MmaDoneToken& token) {
    if (const auto at = under_way_.find({number, token.issue.id}); at != under_way_.end()) {
      instructions_[at->second].done = clock.now() + to_result;
      under_way_.erase(at);
    }
  });
}

void PassageLog::observe_stalls(int number, sm::SubPartition& partition) {
  partition.stalls.observe([this, number](std::int64_t begin, std::int64_t end, sm::StallReason reason) {
    add_stall({number, -1, begin, end, sm::name_of(reason).words});
  });
  partition.observe_warps([this, number](int slot, std::int64_t begin, std::int64_t end, sm::StallReason reason) {
    add_stall({number, slot, begin, end, sm::name_of(reason).words});
  });
}

void PassageLog::observe_copies(const base::Clock& clock, sm::Sm& sm) {
  sm.tap_copies(
      [this, &clock](int partition, const sm::CopyRequest& request) {
        constexpr std::array<std::string_view, isa::kOperandCount> kOperands{"A", "B", "metadata", "partial sums"};
        const isa::WarpInstruction& instruction = *request.instruction;
        if ((instruction.opcode != isa::Opcode::kCopy && instruction.opcode != isa::Opcode::kLoadGlobal) ||
            !window_.has(clock.now())) {
          return;
        }
        copying_[{partition, request.warp_slot, request.group}].push_back(copies_.size());
        copies_.push_back({partition,
                           request.warp_slot,
                           kOperands[static_cast<std::size_t>(instruction.operand)],
                           request.cta,
                           request.tile,
                           clock.now(),
                           -1,
                           {}});
      },
      [this, &clock](int partition, const sm::CopyDone& done) {
        const auto found = copying_.find({partition, done.warp_slot, done.group});
        if (found != copying_.end() && !found->second.empty()) {
          LoggedCopy& copy = copies_[found->second.front()];
          copy.end = clock.now();
          copy.waited_for = sm::name_of(sm::waited_for(done.waited_for)).words;
          found->second.pop_front();
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

void PassageLog::add_memory(std::int64_t now, const memory::MemoryActivity& activity) {
  const memory::MemoryBytes& bytes = activity.bytes;
  if (bytes.l2() < moved_.l2() || bytes.dram() < moved_.dram()) {
    moved_ = {};  // of the grid before this one
  }
  const memory::MemoryBytes before = std::exchange(moved_, bytes);
  add_busy(LoggedBusy::Unit::kL2, now, activity.l2_until);
  add_busy(LoggedBusy::Unit::kDram, now, activity.dram_until);
  if (!window_.has(now)) {
    return;
  }
  const std::int64_t begin = now / kMemoryBin * kMemoryBin;
  if (memory_bytes_.empty() || memory_bytes_.back().begin != begin) {
    memory_bytes_.push_back({begin, 0, 0, 0});
  }
  LoggedBytes& bin = memory_bytes_.back();
  bin.l2 += bytes.l2() - before.l2();
  bin.dram_read += bytes.dram_read - before.dram_read;
  bin.dram_written += bytes.dram_written - before.dram_written;
}

}  // namespace sptc::gpu
