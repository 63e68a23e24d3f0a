// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/resident_warp.h"

#include <algorithm>

namespace sptc::sim {
namespace {

RegisterGroups groups_of(const RegisterRange& range) {
  if (range.count == 0) {
    return 0;
  }
  constexpr int kGroup = 4;
  const int first = range.base / kGroup, last = (range.base + range.count - 1) / kGroup;
  return (~RegisterGroups{0} >> (63 - (last - first))) << first;
}

RegisterGroups groups_read(const WarpInstruction& instruction) {
  return groups_of(instruction.a) | groups_of(instruction.b) | groups_of(instruction.c) |
         groups_of(instruction.metadata);
}

bool overlap(const RegisterRange& left, const RegisterRange& right) {
  return left.count > 0 && right.count > 0 && left.base < right.base + right.count &&
         right.base < left.base + left.count;
}

bool reads_any(const WarpInstruction& instruction, const RegisterRange& range) {
  return overlap(range, instruction.a) || overlap(range, instruction.b) ||
         overlap(range, instruction.c) || overlap(range, instruction.metadata);
}

bool alike(const WarpInstruction& left, const WarpInstruction& right) {
  return left.opcode == right.opcode && left.a.count == right.a.count &&
         left.b.count == right.b.count && left.c.count == right.c.count &&
         left.metadata.count == right.metadata.count;
}

}  // namespace

std::int64_t ResidentWarp::ready_at() const {
  if (at_barrier || cursor_.done()) {
    return kUnknown;
  }
  const WarpInstruction& instruction = cursor_.instruction();
  switch (instruction.opcode) {
    case Opcode::kWgmmaWait:
      return wgmma.groups_under_way() <= instruction.pending_groups ? 0 : kUnknown;
    case Opcode::kWaitTile:
      return cursor_.iteration() < tiles_arrived ? 0 : kUnknown;
    case Opcode::kWaitStage:
      return cursor_.iteration() < tiles_freed + instruction.stages ? 0 : kUnknown;
    default:
      break;
  }
  if (instruction.opcode == Opcode::kWaitCopies && !copies.at_most(instruction.copy_groups)) {
    return kUnknown;
  }
  if (!scoreboard.can_issue(instruction)) {
    return kUnknown;
  }
  if (registers_ready_ == kNotLookedUp) {
    registers_ready_ = registers_ready_at(instruction);
  }
  return instruction.opcode == Opcode::kMma ? std::max(registers_ready_, next_mma)
                                            : registers_ready_;
}

void ResidentWarp::pass(const WarpInstruction& instruction, std::int64_t sources_read,
                        std::int64_t written) {
  passing_.push_back(
      {&instruction, sources_read, written, groups_read(instruction), groups_of(instruction.d)});
  registers_ready_ = kNotLookedUp;
}

std::int64_t ResidentWarp::registers_ready_at(const WarpInstruction& instruction) const {
  const RegisterGroups result = groups_of(instruction.d);
  const RegisterGroups used = groups_read(instruction) | result;
  std::int64_t ready = 0;
  for (const PassingInstruction& before : passing_) {
    if (((before.result & used) | (before.sources & result)) == 0) {
      continue;
    }
    const RegisterRange& written = before.instruction->d;
    if (before.written > ready &&
        (reads_any(instruction, written) || overlap(written, instruction.d))) {
      ready = before.written;
    } else if (before.sources_read > ready && reads_any(*before.instruction, instruction.d)) {
      ready = before.sources_read;
    }
  }
  return ready;
}

std::int64_t ResidentWarp::idle_at() const {
  if (!scoreboard.idle() || !wgmma.idle() || !copies.idle()) {
    return kUnknown;
  }
  std::int64_t last = 0;
  for (const PassingInstruction& before : passing_) {
    last = std::max(last, before.written);
  }
  return last;
}

void ResidentWarp::retire(std::int64_t cycle) {
  passing_.erase(
      std::remove_if(passing_.begin(), passing_.end(),
                     [&](const PassingInstruction& before) { return before.written <= cycle; }),
      passing_.end());
}

int ResidentWarp::count_mmas_ahead() const {
  WarpCursor ahead = cursor_;
  const WarpInstruction& first = ahead.instruction();
  constexpr int kEnough = 1024;
  int count = 0;
  do {
    ++count;
    ahead.advance();
  } while (count < kEnough && !ahead.done() && alike(ahead.instruction(), first));
  return count;
}

}  // namespace sptc::sim
