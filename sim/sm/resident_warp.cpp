// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/resident_warp.h"

#include <algorithm>

namespace sptc::sim {
namespace {

bool alike(const WarpInstruction& left, const WarpInstruction& right) {
  return left.opcode == right.opcode && left.a.count == right.a.count &&
         left.b.count == right.b.count && left.c.count == right.c.count &&
         left.metadata.count == right.metadata.count;
}

}  // namespace

std::int64_t ResidentWarp::ready_at() const {
  if (at_barrier || cursor.done()) {
    return kUnknown;
  }
  const WarpInstruction& instruction = cursor.instruction();
  switch (instruction.opcode) {
    case Opcode::kWgmmaWait:
      return wgmma.groups_under_way() <= instruction.pending_groups ? 0 : kUnknown;
    case Opcode::kWaitTile:
      return cursor.iteration() < tiles_arrived ? 0 : kUnknown;
    case Opcode::kWaitStage:
      return cursor.iteration() < tiles_freed + instruction.stages ? 0 : kUnknown;
    default:
      break;
  }
  if (instruction.opcode == Opcode::kWaitCopies && !copies.at_most(instruction.copy_groups)) {
    return kUnknown;
  }
  if (!scoreboard.can_issue(instruction)) {
    return kUnknown;
  }
  const std::int64_t ready = registers.ready_at(instruction);
  return instruction.opcode == Opcode::kMma ? std::max(ready, next_mma) : ready;
}

std::int64_t ResidentWarp::idle_at() const {
  if (!scoreboard.idle() || !wgmma.idle() || !copies.idle()) {
    return kUnknown;
  }
  return registers.idle_at();
}

int ResidentWarp::count_mmas_ahead() const {
  WarpCursor ahead = cursor;
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
