// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/worker_pool.h"
#include "sim/sweep/executors/executor.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sptc::sweep::executors {

/// Worker processes on this machine, forked before the sweep grows in memory.
class LocalExecutor : public Executor {
 public:
  LocalExecutor(const space::SweepPlan& plan, point::PointRunner& runner, const PointLimits& limits,
                std::size_t workers);

  std::size_t workers() const override { return pool_.size(); }
  bool usable(std::size_t /*worker*/) const override { return true; }
  void submit(std::size_t worker, std::span<const std::uint64_t> positions) override;
  std::vector<WorkerEvent> wait(std::chrono::milliseconds timeout) override;

 private:
  run::WorkerPool pool_;
};

}  // namespace sptc::sweep::executors
