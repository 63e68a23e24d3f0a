// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/memory_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::sm {

/// What a tensor core does in a cycle, or what the next instruction of its warps waits for. SubPartition::count_stall()
/// tells most reasons apart. Another one needs a name in kStallNames, too, and an entry in
/// configs/schema/result.schema.json.
enum class StallReason : std::uint8_t {
  kMma,            ///< multiplies
  kOperandFetch,   ///< ports, register banks and selector let no instruction pass
  kMmaLatency,     ///< results that are under way, and turns of the same warp
  kSharedMemory,   ///< fragments, or operands of asynchronous instructions
  kMemoryLatency,  ///< tiles, of which nothing takes longer than the way through an idle memory
  kSmPort,         ///< tiles, on the way into the SM
  kL2,             ///< tiles, in the L2
  kDram,           ///< tiles, from DRAM
  kBarrier,        ///< the other warps of the CTA
  kIssue,          ///< its turn at the scheduler
  kEnds,           ///< prologue, with the first tiles of a CTA, and epilogue
  kNoCta,          ///< no warp of a CTA is there
};

/// The names of a reason in JSON and in the head of a column, and what a tensor core does then, in words.
struct StallName {
  std::string_view json, column, words;
};
/// The names of all reasons, in the order of StallReason.
inline constexpr auto kStallNames =
    std::to_array<StallName>({{"mma", "mma", "multiplies"},
                              {"operand_fetch", "fetch", "waits for operand fetch and selector"},
                              {"mma_latency", "mma lat", "waits for results of its own"},
                              {"shared_memory", "smem", "waits for shared memory"},
                              {"memory_latency", "mem lat", "waits for the latency of the memory"},
                              {"sm_port", "SM port", "waits for the SM's port"},
                              {"l2", "L2", "waits for the L2"},
                              {"dram", "DRAM", "waits for DRAM"},
                              {"barrier", "barrier", "waits at barriers"},
                              {"issue", "issue", "waits for issue slots"},
                              {"prologue_epilogue", "ends", "is in prologues and epilogues"},
                              {"no_cta", "no CTA", "has no CTA"}});
inline constexpr std::size_t kStallReasons = kStallNames.size();
static_assert(kStallReasons == static_cast<std::size_t>(StallReason::kNoCta) + 1, "each reason has one name");
constexpr const StallName& name_of(StallReason reason) {
  return kStallNames[static_cast<std::size_t>(reason)];
}

/// Cycles, or shares of them, of tensor cores by reason.
template <typename Number>
struct ByReason {
  std::array<Number, kStallReasons> of{};

  Number& operator[](StallReason reason) { return of[static_cast<std::size_t>(reason)]; }
  Number operator[](StallReason reason) const { return of[static_cast<std::size_t>(reason)]; }
  Number total() const { return std::accumulate(of.begin(), of.end(), Number{}); }
  ByReason& operator+=(const ByReason& other) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      of[i] += other.of[i];
    }
    return *this;
  }
};
using StallCycles = ByReason<std::int64_t>;

/// What a warp waits for whose data `level` held up longest.
constexpr StallReason waited_for(MemoryLevel level) {
  switch (level) {
    case MemoryLevel::kSmPort:
      return StallReason::kSmPort;
    case MemoryLevel::kL2:
      return StallReason::kL2;
    case MemoryLevel::kDram:
      return StallReason::kDram;
    case MemoryLevel::kLatency:
      break;
  }
  return StallReason::kMemoryLatency;
}

/// An instruction of a whole warpgroup in the tensor cores: it multiplies, holds the next one back by their interval,
/// and waits for its operands. Each number is the cycle in which one of these ends.
struct WarpgroupMultiply {
  std::int64_t begin = 0;
  std::int64_t multiplied = 0;     ///< the arithmetic
  std::int64_t interval_over = 0;  ///< the least interval to the next one
  std::int64_t end = 0;            ///< the way of its operands, too
};

/// Gives each cycle of a tensor core, or of a warp, to one reason. It does so at events alone, and a cycle that has
/// been given to a reason stays there.
class StallCounters {
 public:
  /// Empties the counts: a grid begins in `cycle`.
  void start(std::int64_t cycle) {
    cycles_ = {};
    until_ = cycle;
    multiplied_ = 0;
    warpgroups_.clear();
  }

  /// An observer is told of every stretch of cycles [begin, end) and its reason, in order.
  using Observer = std::function<void(std::int64_t begin, std::int64_t end, StallReason reason)>;
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }

  /// Whether a cycle before `cycle` is still to be given to a reason.
  bool open(std::int64_t cycle) const { return until_ < cycle; }

  /// Gives the cycles before `cycle` to `reason`, as far as they are still to be given. What a warpgroup does in the
  /// same cycle may be known already or not: it counts from the next call on.
  void wait(std::int64_t cycle, StallReason reason) {
    while (!warpgroups_.empty() && warpgroups_.front().begin < cycle) {
      const WarpgroupMultiply instruction = warpgroups_.front();
      warpgroups_.pop_front();
      give(instruction.begin, StallReason::kMmaLatency);
      give(instruction.multiplied, StallReason::kMma);
      give(instruction.interval_over, StallReason::kOperandFetch);
      give(instruction.end, StallReason::kSharedMemory);
    }
    give(cycle, reason);
  }

  /// Counts that the tensor core multiplies for `cycles` from `cycle` on, behind what it multiplies then.
  void multiply(std::int64_t cycle, double cycles) {
    multiplied_ = std::max(multiplied_, static_cast<double>(cycle)) + cycles;
    give(static_cast<std::int64_t>(std::floor(multiplied_)), StallReason::kMma);
  }

  /// Notes an instruction of a warpgroup for wait(). They come in the order in which they begin.
  void multiply(const WarpgroupMultiply& instruction) { warpgroups_.push_back(instruction); }

  /// Cycles since start().
  const StallCycles& cycles() const { return cycles_; }

 private:
  /// Gives the cycles before `cycle` that are still to be given to `reason`.
  void give(std::int64_t cycle, StallReason reason) {
    if (cycle > until_) {
      cycles_[reason] += cycle - until_;
      for (const Observer& observer : observers_) {
        observer(until_, cycle, reason);
      }
      until_ = cycle;
    }
  }

  StallCycles cycles_;
  std::int64_t until_ = 0;                    ///< the cycles before it have been given
  double multiplied_ = 0;                     ///< cycle in which the multipliers are through
  std::deque<WarpgroupMultiply> warpgroups_;  ///< not counted yet
  std::vector<Observer> observers_;
};

}  // namespace sptc::sm
