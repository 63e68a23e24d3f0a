// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/executors/local_executor.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::sweep::executors {
namespace {

using Kind = run::WorkerPool::Event::Kind;

/// In a worker: simulates the positions of a request and sends outcomes as they come.
run::WorkerPool::Handler handler_of(const space::SweepPlan& plan, point::PointRunner& runner,
                                    const PointLimits& limits) {
  const auto worker = std::make_shared<PointWorker>(plan, runner, limits);
  return [worker](std::string_view request, const run::WorkerPool::Send& send) {
    worker->run(run::rows_of<std::uint64_t>(request), send);
    return std::string();
  };
}

}  // namespace

LocalExecutor::LocalExecutor(const space::SweepPlan& plan, point::PointRunner& runner,
                             const PointLimits& limits, std::size_t workers)
    : pool_(workers, handler_of(plan, runner, limits)) {}

void LocalExecutor::submit(std::size_t worker, std::span<const std::uint64_t> positions) {
  pool_.submit(worker, {reinterpret_cast<const char*>(positions.data()), positions.size_bytes()});
}

std::vector<WorkerEvent> LocalExecutor::wait(std::chrono::milliseconds timeout) {
  std::vector<WorkerEvent> events;
  std::set<std::size_t> stopped;  // what else they said does not count
  for (run::WorkerPool::Event& event : pool_.wait(timeout)) {
    if (event.kind == Kind::kAnswer || stopped.contains(event.worker)) {
      continue;
    }
    const bool is_part = event.kind == Kind::kPart;
    if (is_part && append_events(event.worker, event.bytes, events)) {
      continue;
    }
    pool_.stop(event.worker);
    stopped.insert(event.worker);
    WorkerEvent lost{event.worker, true, {}};
    lost.outcome.failed = true;
    lost.outcome.reason = is_part ? std::string(run::kNoAnswerOfAWorker) : std::move(event.bytes);
    events.push_back(std::move(lost));
  }
  return events;
}

}  // namespace sptc::sweep::executors
