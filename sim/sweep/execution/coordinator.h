// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/report/progress.h"
#include "sim/sweep/executors/local_executor.h"
#include "sim/sweep/store/sweep_store.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sptc::sweep::execution {

/// The points of part `index` of `count` (from 1) of a sweep: every count-th.
struct SweepShard {
  std::uint64_t index = 1, count = 1;
};

std::vector<std::uint64_t> positions_of(const space::SweepPlan& plan, const SweepShard& shard);

struct SweepProgress {
  std::size_t total = 0;     ///< points of this shard
  std::size_t reused = 0;    ///< of them done before
  std::size_t done = 0;      ///< of them done now, failures included
  std::size_t failures = 0;  ///< of those done now
  double seconds = 0;        ///< since the first point was handed out
  double seconds_left = 0;   ///< by the estimates of what is done and what is not
  bool interrupted = false;

  report::Progress shown() const;
};

/// SweepStore::finish(); what it throws says that the points are safe.
bool finish(store::SweepStore& store);

/// Hands the points of the shard that the store lacks to the workers, longest first, and stores
/// what they report: every point that SystemC simulated in a transaction of its own, of the others
/// several at a time. Ends early when `stop` becomes true.
/// `report` is called a few times per second. Throws InputError where the store cannot be written
/// or a worker that was lost cannot be replaced.
SweepProgress run_sweep(const space::SweepPlan& plan, point::PointRunner& runner,
                        const executors::PointLimits& limits, const SweepShard& shard,
                        store::SweepStore& store, executors::LocalExecutor& executor,
                        const std::atomic<bool>& stop,
                        const std::function<void(const SweepProgress&)>& report);

/// The same of the points at `positions`, in no order of theirs.
SweepProgress run_points(const space::SweepPlan& plan, point::PointRunner& runner,
                         const executors::PointLimits& limits,
                         std::span<const std::uint64_t> positions, store::SweepStore& store,
                         executors::LocalExecutor& executor, const std::atomic<bool>& stop,
                         const std::function<void(const SweepProgress&)>& report);

}  // namespace sptc::sweep::execution
