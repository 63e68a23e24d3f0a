// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/executors/local_executor.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace sptc::sweep::executors {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A worker sends what it has at this size or age.
constexpr std::size_t kSentBytes = 1 << 16;
constexpr std::chrono::milliseconds kSentAfter{5};

void append(std::string& bytes, std::uint64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

bool take(std::string_view& bytes, std::uint64_t& value) {
  if (bytes.size() < sizeof(value)) {
    return false;
  }
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return true;
}

void append(std::string& bytes, const std::string& text) {
  append(bytes, text.size());
  bytes += text;
}

bool take(std::string_view& bytes, std::string& text) {
  std::uint64_t size = 0;
  if (!take(bytes, size) || bytes.size() < size) {
    return false;
  }
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

void append(std::string& bytes, const point::PointFigures& figures) {
  append(bytes, figures.names());
  append(bytes, figures.bytes());
}

bool take(std::string_view& bytes, point::PointFigures& figures) {
  std::string names;
  std::string values;
  if (!take(bytes, names) || !take(bytes, values)) {
    return false;
  }
  figures = {std::move(names), std::move(values)};
  return true;
}

point::PointOutcome failure(std::uint64_t position, const std::string& reason) {
  point::PointOutcome outcome;
  outcome.position = position;
  outcome.failed = true;
  outcome.reason = base::bounded_message(reason);
  return outcome;
}

point::PointOutcome run_here(const space::SweepPlan& plan, point::PointRunner& runner,
                             const space::SweepPoint& point) {
  try {
    point::PointOutcome outcome = runner.run(plan, point);
    outcome.position = point.position;
    outcome.hash = plan.hash(point);
    return outcome;
  } catch (const base::InputError& error) {
    return failure(point.position, error.what());
  } catch (const std::bad_alloc&) {
    return failure(point.position, "not enough memory");
  } catch (const std::exception& error) {
    return failure(point.position, fmt::format("internal error: {}", error.what()));
  }
}

void limit_memory(std::uint64_t megabytes) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const rlim_t bytes = used + (megabytes << 20);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

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

void append_bytes(const point::PointOutcome& outcome, std::string& bytes) {
  append(bytes, outcome.position);
  append(bytes, outcome.failed ? 1 : 0);
  append(bytes, outcome.operations.size());
  for (const std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
    append(bytes, *text);
  }
  append(bytes, outcome.totals);
  for (const point::PointFigures& operation : outcome.operations) {
    append(bytes, operation);
  }
}

std::optional<point::PointOutcome> from_bytes(std::string_view bytes, std::size_t& used) {
  const std::size_t before = bytes.size();
  point::PointOutcome outcome;
  std::uint64_t failed = 0;
  std::uint64_t operations = 0;
  bool good = take(bytes, outcome.position) && take(bytes, failed) && take(bytes, operations);
  for (std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
    good = good && take(bytes, *text);
  }
  good = good && take(bytes, outcome.totals);
  for (std::uint64_t i = 0; good && i < operations; ++i) {
    good = take(bytes, outcome.operations.emplace_back());
  }
  if (!good) {
    return std::nullopt;
  }
  outcome.failed = failed != 0;
  used = before - bytes.size();
  return outcome;
}

bool append_events(std::size_t worker, std::string_view bytes, std::vector<WorkerEvent>& events) {
  while (!bytes.empty()) {
    std::size_t used = 0;
    std::optional<point::PointOutcome> outcome = from_bytes(bytes, used);
    if (!outcome) {
      return false;
    }
    bytes.remove_prefix(used);
    events.push_back({worker, false, std::move(*outcome)});
  }
  return true;
}

PointWorker::PointWorker(const space::SweepPlan& plan, point::PointRunner& runner,
                         const PointLimits& limits)
    : plan_(plan), runner_(runner), limits_(limits) {}

std::string PointWorker::answer(std::string_view position) {
  if (limits_.memory_mb) {
    limit_memory(*limits_.memory_mb);
  }
  std::uint64_t number = 0;
  take(position, number);
  std::string outcome;
  append_bytes(run_here(plan_, runner_, plan_.point(number)), outcome);
  return outcome;
}

point::PointOutcome PointWorker::run_isolated(const space::SweepPoint& point) {
  std::string position;
  append(position, point.position);
  try {
    if (!child_) {
      child_.emplace(1, [this](std::string_view request, const run::WorkerPool::Send&) {
        return answer(request);
      });
    }
    std::optional<run::WorkerPool::Event> event =
        run::request_of_one(*child_, position, {{}, {}, limits_.timeout_s});
    if (limits_.memory_mb) {
      child_->stop(0);  // what one point took is no less for the next
    }
    if (!event) {
      return failure(point.position,
                     fmt::format("not done after the timeout of {} s", *limits_.timeout_s));
    }
    std::size_t used = 0;
    auto outcome = from_bytes(run::answer_of(std::move(*event)), used);
    base::ensure(outcome.has_value(), "a worker sent half an outcome");
    return *std::move(outcome);
  } catch (const std::bad_alloc&) {
    return failure(point.position, "not enough memory");
  } catch (const base::InputError& error) {
    return failure(point.position, error.what());
  } catch (const base::InternalError& error) {
    return failure(point.position, error.what());
  }
}

point::PointOutcome PointWorker::run(std::uint64_t position) {
  const space::SweepPoint point = plan_.point(position);
  return limits_.any() ? run_isolated(point) : run_here(plan_, runner_, point);
}

void PointWorker::run(std::span<const std::uint64_t> positions,
                      const std::function<void(std::string_view outcomes)>& send) {
  std::string outcomes;
  auto sent = SteadyClock::now();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    append_bytes(run(positions[i]), outcomes);
    const auto now = SteadyClock::now();
    if (i + 1 == positions.size() || outcomes.size() >= kSentBytes || now - sent >= kSentAfter) {
      send(outcomes);
      outcomes.clear();
      sent = now;
    }
  }
}

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
