// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/isa/warp_instruction.h"
#include "sim/sm/copy_groups.h"
#include "sim/sm/kernel_launch.h"
#include "sim/sm/scoreboard.h"
#include "sim/sm/tokens.h"
#include "sim/sm/wgmma_groups.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace sptc::sim {

/// Registers of a thread in groups of four, one bit each: enough to tell most apart.
using RegisterGroups = std::uint64_t;

/// An instruction under way of which all is known [cycles].
struct PassingInstruction {
  const WarpInstruction* instruction = nullptr;
  std::int64_t sources_read = 0;  ///< its source registers may be written from here on
  std::int64_t written = 0;       ///< its result may be used from here on
  RegisterGroups sources = 0, result = 0;
};

/// A warp on a sub-partition, and what keeps it from going on. What is under way is either known to
/// its cycle (`passing`), or somebody will report it (scoreboard, groups, barrier).
struct ResidentWarp {
  /// For cycles: something that will be reported has to come first.
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  bool resident = false;
  bool at_barrier = false;
  bool producer = false;  ///< copies for the other warps of its CTA
  bool elided = false;    ///< its instructions carry no values, and nobody looks at them
  WarpName name;
  CtaLaunch launch;
  std::int64_t next_mma = 0;  ///< no matrix instruction before this cycle
  int mmas_ahead = 0;         ///< alike, that follow each other from the cursor on; 0: not counted
  std::int64_t mma_interval = 0;             ///< cycles between them, at least
  std::int64_t other_selector_interval = 0;  ///< behind one whose selector is not the last one's
  int selector = 0;                          ///< of the latest sparse one
  CopyGroups copies;
  // Of CTAs with a producer: k-tiles since the start of the CTA.
  std::int64_t tiles_arrived = 0;  ///< as announced; of the producer, as reported
  std::int64_t tiles_freed = 0;    ///< by this warp; of the producer, by all others
  WgmmaGroups wgmma;
  Scoreboard scoreboard;

  const WarpCursor& cursor() const { return cursor_; }
  /// Starts at `cursor`.
  void start(const WarpCursor& cursor) { cursor_ = cursor; }
  /// To the next instruction.
  void advance() {
    cursor_.advance();
    registers_ready_ = kNotLookedUp;
  }
  /// `instruction` is under way: it has read its sources by the cycle `sources_read`, and its
  /// result is there from `written` on.
  void pass(const WarpInstruction& instruction, std::int64_t sources_read, std::int64_t written);

  /// First cycle in which the next instruction may issue, as far as the warp decides and it is
  /// known; 0 where nothing is in the way.
  std::int64_t ready_at() const;

  /// Cycle from which on nothing is under way.
  std::int64_t idle_at() const;

  /// Forgets what has passed by `cycle`.
  void retire(std::int64_t cycle);

  bool next_is_load() const {
    return !cursor_.done() && elided && cursor_.instruction().opcode == Opcode::kLoadMatrix;
  }
  /// Nobody but the sub-partition sees the next instruction.
  bool next_is_unseen() const {
    return !cursor_.done() && elided && cursor_.instruction().opcode == Opcode::kMma;
  }

  /// Matrix instructions alike that follow each other from the cursor on; at least 1, and
  /// no more than are worth counting.
  int count_mmas_ahead() const;

 private:
  static constexpr std::int64_t kNotLookedUp = -1;

  std::int64_t registers_ready_at(const WarpInstruction& instruction) const;

  WarpCursor cursor_;
  std::vector<PassingInstruction> passing_;
  /// registers_ready_at() of the next instruction: the scheduler asks often.
  mutable std::int64_t registers_ready_ = kNotLookedUp;
};

}  // namespace sptc::sim
