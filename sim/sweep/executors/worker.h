// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/worker_pool.h"
#include "sim/sweep/executors/executor.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep::executors {

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
  enum class Isolation {
    kOfSystemC,  ///< a crash of SystemC must not end this process
    kOfLimits,   ///< this process may be lost: it is a worker itself
  };
  /// What needs it is simulated in a child process, which serves many points; where memory is
  /// limited, each in one of its own.
  PointWorker(const space::SweepPlan& plan, point::PointRunner& runner, const PointLimits& limits,
              Isolation isolation);

  /// `while_waiting` is called ten times a second while a child works.
  point::PointOutcome run(std::uint64_t position, const std::function<void()>& while_waiting = {});

  /// run() for one after the other. `send` gets their outcomes as bytes, several at a time where
  /// they take no time.
  void run(std::span<const std::uint64_t> positions,
           const std::function<void(std::string_view outcomes)>& send,
           const std::function<void()>& while_waiting = {});

 private:
  bool isolates(const space::SweepPoint& point) const;
  point::PointOutcome run_isolated(const space::SweepPoint& point,
                                   const std::function<void()>& while_waiting);
  std::string answer(std::string_view position);

  const space::SweepPlan& plan_;
  point::PointRunner& runner_;
  PointLimits limits_;
  Isolation isolation_;
  std::optional<run::WorkerPool> child_;
};

}  // namespace sptc::sweep::executors
