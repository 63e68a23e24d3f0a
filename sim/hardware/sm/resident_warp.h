// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/async_groups.h"
#include "sim/hardware/sm/kernel_launch.h"
#include "sim/hardware/sm/scoreboard.h"
#include "sim/hardware/sm/tokens.h"

#include <algorithm>
#include <cstdint>

namespace sptc::sm {

/// A slot of a sub-partition for a warp, and what keeps the warp in it from going on. What is under way ends in a cycle
/// that is known, or that will be reported.
struct ResidentWarp {
  /// The cycle of what will be reported.
  static constexpr std::int64_t kUnknown = Scoreboard::kUnknown;

  bool resident = false;  ///< whether a warp is in the slot
  bool at_barrier = false;
  /// Whether it is its CTA's producer: the warp that does nothing but copy k-tiles to shared memory for the others.
  bool producer = false;
  /// Whether its instructions are elided: they carry no values, and no wire of the tensor core has a tap, so that
  /// nobody would see their tokens. The tensor core then says at once when an instruction ends, without tokens, and
  /// shared memory may answer early. That moves no cycle (tests/timing/elided_test.cpp).
  bool elided = false;
  WarpName name;
  CtaLaunch launch;
  std::int64_t next_mma = 0;                 ///< no matrix instruction before this cycle
  int mmas_ahead = 0;                        ///< those alike from the cursor on (count_mmas_ahead()); 0: not counted
  std::int64_t mma_interval = 0;             ///< cycles between them, at least
  double multiply_cycles = 0;                ///< of each of them
  std::int64_t other_selector_interval = 0;  ///< the interval behind one that changes the selector
  int selector = 0;                          ///< that of the latest sparse one
  AsyncGroups copies, wgmma;
  // k-tiles since the start of a CTA with a producer.
  std::int64_t tiles_arrived = 0;  ///< as announced; of the producer, as reported
  std::int64_t tiles_freed = 0;    ///< by this warp; of the producer, by all others
  std::int64_t came = 0;           ///< cycle of the latest tile or asynchronous result that was reported
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< what the latest tile or load took longest for
  Scoreboard scoreboard;
  isa::WarpCursor cursor;

  /// First cycle in which the next instruction may issue, as far as that depends on the warp; 0 where nothing is in
  /// the way, kUnknown where a report has to come first.
  std::int64_t ready_at() const {
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

  /// Cycle from which on nothing is under way.
  std::int64_t idle_at() const { return wgmma.idle() && copies.idle() ? scoreboard.idle_at() : kUnknown; }

  /// Whether the next instruction is an elided load from shared memory, which may be sent early
  /// (SubPartition::issue_ahead()).
  bool next_is_load() const {
    return !cursor.done() && elided && cursor.instruction().opcode == isa::Opcode::kLoadMatrix;
  }
  /// Whether nobody but the sub-partition sees the next instruction: an elided matrix instruction, which may be issued
  /// late.
  bool next_is_unseen() const { return !cursor.done() && elided && cursor.instruction().opcode == isa::Opcode::kMma; }

  /// How many matrix instructions alike follow each other from the cursor on: at least 1, and no more than are worth
  /// counting.
  int count_mmas_ahead() const {
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
};

}  // namespace sptc::sm
