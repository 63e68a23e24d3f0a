// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/sub_partition.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::sm {

void SubPartition::observe_warps(const WarpObserver& observer) {
  stalls_of_warps_ = std::vector<StallCounters>(warps_.size());
  for (std::size_t slot = 0; slot < warps_.size(); ++slot) {
    stalls_of_warps_[slot].observe(
        [observer, slot = static_cast<int>(slot)](std::int64_t begin, std::int64_t end, StallReason reason) {
          observer(slot, begin, end, reason);
        });
  }
}

void SubPartition::count_stall(const ResidentWarp& warp, std::int64_t cycle, StallCounters& counters) const {
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  if (!warp.cursor.in_main_loop()) {
    counters.wait(cycle, StallReason::kEnds);
    return;
  }
  const auto until = [&](std::int64_t end, StallReason reason) { counters.wait(std::min(cycle, end), reason); };
  switch (instruction.opcode) {
    case isa::Opcode::kMma:
      count_stall_of_mma(warp, cycle, counters);
      break;
    case isa::Opcode::kWaitTile:
      until(warp.came, warp.cursor.iteration() == 0 ? StallReason::kEnds : waited_for(warp.waited_for));
      break;
    case isa::Opcode::kWaitCopies:
    case isa::Opcode::kStoreShared:
      until(warp.came, waited_for(warp.waited_for));
      break;
    case isa::Opcode::kWgmmaWait:
      until(warp.came, StallReason::kMmaLatency);
      break;
    case isa::Opcode::kLoadGlobal:  // to registers that are still to be stored
      until(warp.scoreboard.ready_at(instruction), StallReason::kSharedMemory);
      break;
    default:  // to registers that matrix instructions still have to read
      until(warp.scoreboard.ready_at(instruction), StallReason::kOperandFetch);
      break;
  }
  counters.wait(cycle, StallReason::kIssue);
}

void SubPartition::count_stall_of_mma(const ResidentWarp& warp, std::int64_t cycle, StallCounters& counters) const {
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  const Scoreboard& registers = warp.scoreboard;
  const auto until = [&](std::int64_t end, StallReason reason) { counters.wait(std::min(cycle, end), reason); };
  // Its place between scheduler and operand fetch is free since the operands of an instruction before it were read: of
  // the latest one where the other place is taken, else of the one before that.
  const std::int64_t credit_at = operands_read_at_[static_cast<std::size_t>(kDispatchQueue - dispatch_credits_)];
  // Each of these may be the last: what ends first is counted first.
  std::array<std::pair<std::int64_t, StallReason>, 4> waits{
      {{std::max({registers.written_at(instruction.a), registers.written_at(instruction.b),
                  registers.written_at(instruction.metadata)}),
        StallReason::kSharedMemory},
       {registers.written_at(instruction.c), StallReason::kMmaLatency},
       {credit_at, StallReason::kOperandFetch},
       {warp.next_mma - core_.same_warp_gap_cycles, StallReason::kOperandFetch}}};
  std::sort(waits.begin(), waits.end());
  for (const auto& [end, reason] : waits) {
    until(end, reason);
  }
  until(warp.next_mma, StallReason::kMmaLatency);
}

void SubPartition::tell_tile(const ResidentWarp& warp, std::int64_t cycle) const {
  TileObserver* const observer = warp.launch.kernel->observer;
  if (const std::int64_t tile = observer == nullptr ? -1 : warp.cursor.tile_waited_for(); tile >= 0) {
    observer->tile_used(warp.launch.cta, tile, cycle);
  }
}

}  // namespace sptc::sm
