// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/resident_warp.h"

#include <algorithm>

namespace sptc::sm {

std::int64_t ResidentWarp::ready_at() const {
  if (at_barrier || cursor.done()) {
    return kUnknown;
  }
  const isa::WarpInstruction& instruction = cursor.instruction();
  switch (instruction.opcode) {
    case isa::Opcode::kWgmmaWait:
      return wgmma.at_most(instruction.pending_groups) ? 0 : kUnknown;
    case isa::Opcode::kWaitTile:
      return cursor.iteration() < tiles_arrived ? 0 : kUnknown;
    case isa::Opcode::kWaitStage:
      return cursor.iteration() < tiles_freed + instruction.stages ? 0 : kUnknown;
    default:
      break;
  }
  if (instruction.opcode == isa::Opcode::kWaitCopies && !copies.at_most(instruction.copy_groups)) {
    return kUnknown;
  }
  const std::int64_t ready = scoreboard.ready_at(instruction);
  return instruction.opcode == isa::Opcode::kMma ? std::max(ready, next_mma) : ready;
}

std::int64_t ResidentWarp::idle_at() const {
  return wgmma.idle() && copies.idle() ? scoreboard.idle_at() : kUnknown;
}

int ResidentWarp::count_mmas_ahead() const {
  constexpr int kEnough = 1024;
  const isa::WarpInstruction& first = cursor.instruction();
  isa::WarpCursor ahead = cursor;
  int count = 0;
  do {
    // Runs end with the section; the next one may go on.
    count += ahead.instruction().run;
    ahead.advance_by(ahead.instruction().run);
  } while (count < kEnough && !ahead.done() && ahead.instruction().is_like(first));
  return std::min(count, kEnough);
}

}  // namespace sptc::sm
