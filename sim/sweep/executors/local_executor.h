// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/worker_pool.h"
#include "sim/sweep/executors/worker.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sptc::sweep::executors {

/// Worker processes on this machine that simulate points, forked before the sweep grows in memory.
/// A worker reports its positions in the order in which it got them.
class LocalExecutor {
 public:
  LocalExecutor(const space::SweepPlan& plan, point::PointRunner& runner, const PointLimits& limits,
                std::size_t workers);

  std::size_t workers() const { return pool_.size(); }
  /// Throws InputError where the worker was lost and cannot be replaced.
  void submit(std::size_t worker, std::span<const std::uint64_t> positions);
  /// Waits until something happened, at most `timeout`.
  std::vector<WorkerEvent> wait(std::chrono::milliseconds timeout);

 private:
  run::WorkerPool pool_;
};

}  // namespace sptc::sweep::executors
