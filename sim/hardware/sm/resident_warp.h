// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/async_groups.h"
#include "sim/hardware/sm/kernel_launch.h"
#include "sim/hardware/sm/scoreboard.h"
#include "sim/hardware/sm/tokens.h"

#include <cstdint>

namespace sptc::sm {

/// A warp on a sub-partition, and what keeps it from going on. What is under way is either known to
/// its cycle or will be reported.
struct ResidentWarp {
  /// A cycle of something that will be reported.
  static constexpr std::int64_t kUnknown = Scoreboard::kUnknown;

  bool resident = false;
  bool at_barrier = false;
  bool producer = false;  ///< copies for the other warps of its CTA
  bool elided = false;    ///< its instructions carry no values, and nobody looks at them
  WarpName name;
  CtaLaunch launch;
  std::int64_t next_mma = 0;                 ///< no matrix instruction before this cycle
  int mmas_ahead = 0;                        ///< alike, that follow each other from the cursor on; 0: not counted
  std::int64_t mma_interval = 0;             ///< cycles between them, at least
  double multiply_cycles = 0;                ///< of each of them
  std::int64_t other_selector_interval = 0;  ///< behind one whose selector is not the last one's
  int selector = 0;                          ///< of the latest sparse one
  AsyncGroups copies, wgmma;
  // k-tiles since the start of a CTA with a producer.
  std::int64_t tiles_arrived = 0;  ///< as announced; of the producer, as reported
  std::int64_t tiles_freed = 0;    ///< by this warp; of the producer, by all others
  std::int64_t came = 0;           ///< cycle of the latest tile or asynchronous result that was reported
  MemoryLevel waited_for = MemoryLevel::kLatency;  ///< of the latest tile
  Scoreboard scoreboard;
  isa::WarpCursor cursor;

  /// First cycle in which the next instruction may issue, as far as the warp decides and it is
  /// known; 0 where nothing is in the way.
  std::int64_t ready_at() const;

  /// Cycle from which on nothing is under way.
  std::int64_t idle_at() const;

  bool next_is_load() const {
    return !cursor.done() && elided && cursor.instruction().opcode == isa::Opcode::kLoadMatrix;
  }
  /// Whether nobody but the sub-partition sees the next instruction.
  bool next_is_unseen() const { return !cursor.done() && elided && cursor.instruction().opcode == isa::Opcode::kMma; }

  /// Matrix instructions alike that follow each other from the cursor on; at least 1, and
  /// no more than are worth counting.
  int count_mmas_ahead() const;
};

}  // namespace sptc::sm
