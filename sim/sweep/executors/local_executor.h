// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/worker_pool.h"
#include "sim/sweep/point/point_runner.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep::executors {

/// Bounds of one point. A point that has any runs in a process that may be ended.
struct PointLimits {
  std::optional<double> timeout_s;         ///< wall clock
  std::optional<std::uint64_t> memory_mb;  ///< address space beyond that of the program itself

  bool any() const { return timeout_s || memory_mb; }
};

/// Something that a worker reports.
struct WorkerEvent {
  std::size_t worker = 0;
  bool lost = false;            ///< the worker died; `outcome` says nothing but the reason
  point::PointOutcome outcome;  ///< of the oldest position that the worker had not reported
};

/// An outcome as bytes, behind those that are there, and back. Nothing where `bytes` do not begin
/// with a whole one; `used` is how many they were.
void append_bytes(const point::PointOutcome& outcome, std::string& bytes);
std::optional<point::PointOutcome> from_bytes(std::string_view bytes, std::size_t& used);

/// Appends what `worker` reports with `bytes`, one outcome behind the other, to `events`. False
/// where something among them is none: a worker that sends such is lost.
bool append_events(std::size_t worker, std::string_view bytes, std::vector<WorkerEvent>& events);

/// Simulates points one after the other and turns whatever goes wrong into a failed outcome.
class PointWorker {
 public:
  /// With limits points are simulated in a child process, which serves many; where memory is
  /// limited, each in one of its own.
  PointWorker(const space::SweepPlan& plan, point::PointRunner& runner, const PointLimits& limits);

  point::PointOutcome run(std::uint64_t position);

  /// run() for one after the other. `send` gets their outcomes as bytes, several at a time where
  /// they take no time.
  void run(std::span<const std::uint64_t> positions,
           const std::function<void(std::string_view outcomes)>& send);

 private:
  point::PointOutcome run_isolated(const space::SweepPoint& point);
  std::string answer(std::string_view position);

  const space::SweepPlan& plan_;
  point::PointRunner& runner_;
  PointLimits limits_;
  std::optional<run::WorkerPool> child_;
};

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
