// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/report/progress.h"
#include "sim/sweep/point.h"
#include "sim/sweep/sweep_store.h"

#include <atomic>

namespace sptc::sweep {

/// The points of part `index` of `count` (from 1) of a sweep: every count-th.
struct SweepShard {
  std::uint64_t index = 1, count = 1;
};

std::vector<std::uint64_t> positions_of(const SweepPlan& plan, const SweepShard& shard);

struct SweepProgress {
  std::size_t total = 0;     ///< points of this shard
  std::size_t reused = 0;    ///< of them done before
  std::size_t done = 0;      ///< of them done now, failures included
  std::size_t failures = 0;  ///< of those done now
  double seconds = 0;        ///< since the first point was handed out
  double seconds_left = 0;   ///< by the estimates of what is done and what is not
  bool interrupted = false;
  bool in_order = true;  ///< false: another program read the results, which stay as they came

  report::Progress shown() const;
};

/// Bounds of one point. A point that has any is simulated in a process that may be ended.
struct PointLimits {
  std::optional<double> timeout_s = {};         ///< wall clock
  std::optional<std::uint64_t> memory_mb = {};  ///< address space beyond that of the program itself

  bool any() const { return timeout_s || memory_mb; }
};

struct SweepWork {
  const SweepPlan& plan;
  PointRunner& runner;
  PointLimits limits;
  std::size_t jobs;
  const std::atomic<bool>& stop;                          ///< true ends it early
  std::function<void(const SweepProgress&)> report = {};  ///< called a few times per second
};

/// Hands the points at `positions` that the store lacks to the workers, longest first, and stores
/// them: each that SystemC simulated in a transaction of its own. Throws InputError where the store
/// cannot be written or a lost worker cannot be replaced.
SweepProgress run_points(const SweepWork& work, std::span<const std::uint64_t> positions, SweepStore& store);

/// Runs the points of a shard. A RunMarker tells others of it, and when all points are there the
/// results are put in order; where that fails the InputError says that they are stored.
SweepProgress run_sweep(const SweepWork& work, const SweepShard& shard, SweepStore& store);

}  // namespace sptc::sweep
