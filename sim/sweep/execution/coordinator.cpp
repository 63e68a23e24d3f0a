// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/coordinator.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sptc::sweep::execution {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Points in closed form take microseconds: they travel in batches, and the next
// batch waits at the worker.
constexpr std::size_t kBatch = 128;
constexpr std::chrono::milliseconds kReportInterval{200};

struct PendingPoint {
  std::uint64_t position;
  float seconds;
  bool alone;  ///< not in a batch: SystemC simulates it, or it may have ended its worker
};

class Coordinator {
 public:
  Coordinator(const space::SweepPlan& plan, point::PointRunner& runner,
              const executors::PointLimits& limits, std::span<const std::uint64_t> positions,
              store::SweepStore& store, executors::LocalExecutor& executor)
      : store_(store), executor_(executor), in_flight_(executor.workers()) {
    progress_.total = positions.size();
    for (const std::uint64_t position : positions) {
      if (store.has(position)) {
        ++progress_.reused;
        continue;
      }
      const space::SweepPoint point = plan.point(position);
      const auto seconds = static_cast<float>(runner.estimated_seconds(plan, point));
      const bool alone = limits.any() || runner.needs_process(plan, point);
      pending_.push_back({position, seconds, alone});
    }
    // The longest first; what takes microseconds in order of the positions.
    std::stable_sort(pending_.begin(), pending_.end(), [](const auto& a, const auto& b) {
      return a.alone != b.alone ? a.alone
             : a.alone          ? a.seconds > b.seconds
                                : a.position < b.position;
    });
    for (const PendingPoint& point : pending_) {
      estimate_left_ += point.seconds;
    }
  }

  SweepProgress run(const std::atomic<bool>& stop,
                    const std::function<void(const SweepProgress&)>& report) {
    auto reported = start_ = SteadyClock::now();
    while (!stop && progress_.reused + progress_.done < progress_.total) {
      hand_out();
      take_in(executor_.wait(kReportInterval));
      const auto now = SteadyClock::now();
      if (report && now - reported >= kReportInterval) {
        reported = now;
        measure();
        report(progress_);
      }
    }
    store_ready();
    progress_.interrupted = progress_.reused + progress_.done < progress_.total;
    measure();
    return progress_;
  }

 private:
  void hand_out() {
    for (std::size_t worker = 0; worker < executor_.workers(); ++worker) {
      std::vector<std::uint64_t> batch;
      auto& flight = in_flight_[worker];
      if (flight.size() > batch_limit() / 2) {
        continue;
      }
      while (const PendingPoint* next = peek()) {
        const bool fits =
            next->alone ? flight.empty()
                        : flight.size() < batch_limit() && (flight.empty() || !flight.back().alone);
        if (!fits) {
          break;
        }
        flight.push_back(*next);
        batch.push_back(next->position);
        pop();
      }
      if (!batch.empty()) {
        executor_.submit(worker, batch);
      }
    }
  }

  /// Small enough that the last points are shared by all workers.
  std::size_t batch_limit() const {
    const std::size_t left = pending_.size() - next_;
    return std::clamp<std::size_t>(left / (4 * executor_.workers()), 1, 2 * kBatch);
  }

  const PendingPoint* peek() const {
    if (!again_.empty()) {
      return &again_.front();
    }
    return next_ < pending_.size() ? &pending_[next_] : nullptr;
  }
  void pop() {
    if (!again_.empty()) {
      again_.pop_front();
    } else {
      ++next_;
    }
  }

  void take_in(std::vector<executors::WorkerEvent> events) {
    for (executors::WorkerEvent& event : events) {
      auto& flight = in_flight_[event.worker];
      if (event.lost && flight.empty()) {
        continue;
      }
      base::ensure(!flight.empty(), "a worker reports a point that it did not get");
      if (event.lost && flight.size() > 1) {
        // Which of them it was shows when each is simulated without the others.
        for (PendingPoint& point : flight) {
          point.alone = true;
          again_.push_back(point);
        }
        flight.clear();
        continue;
      }
      const PendingPoint point = flight.front();
      flight.pop_front();
      if (event.lost) {
        event.outcome.position = point.position;
      }
      base::ensure(event.outcome.position == point.position, "a worker reports out of order");
      ++progress_.done;
      progress_.failures += event.outcome.failed;
      estimate_left_ -= point.seconds;
      estimate_done_ += point.seconds;
      if (point.alone) {
        store({&event.outcome, 1});
      } else {
        ready_.push_back(std::move(event.outcome));
      }
    }
    if (ready_.size() >= kBatch || SteadyClock::now() - stored_ >= kReportInterval) {
      store_ready();
    }
  }

  void store_ready() {
    store(ready_);
    ready_.clear();
    stored_ = SteadyClock::now();
  }

  void store(std::span<const point::PointOutcome> batch) {
    if (batch.empty()) {
      return;
    }
    try {
      store_.add(batch);
    } catch (const base::InputError& error) {
      throw base::InputError(
          fmt::format("{}; {} points are stored, and the rest follows when the command is repeated",
                      error.what(), store_.size()));
    }
  }

  void measure() {
    const std::chrono::duration<double> spent = SteadyClock::now() - start_;
    progress_.seconds = spent.count();
    progress_.seconds_left =
        estimate_done_ > 0 ? spent.count() * std::max(0.0, estimate_left_) / estimate_done_ : 0;
  }

  store::SweepStore& store_;
  executors::LocalExecutor& executor_;
  std::vector<PendingPoint> pending_;
  std::size_t next_ = 0;
  std::deque<PendingPoint> again_;
  std::vector<point::PointOutcome> ready_;  ///< done, and soon stored
  SteadyClock::time_point stored_ = SteadyClock::now();
  std::vector<std::deque<PendingPoint>> in_flight_;
  SweepProgress progress_;
  double estimate_left_ = 0, estimate_done_ = 0;
  SteadyClock::time_point start_;
};

}  // namespace

report::Progress SweepProgress::shown() const {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  return {reused + done,
          total,
          done > 0 ? std::optional(seconds_left) : std::nullopt,
          fmt::format("{} failed, {:.{}f} points/s", failures, rate, rate < 100 ? 1 : 0),
          {}};
}

std::vector<std::uint64_t> positions_of(const space::SweepPlan& plan, const SweepShard& shard) {
  std::vector<std::uint64_t> positions;
  std::uint64_t number = 0;
  plan.for_each([&](std::uint64_t position) {
    if (number++ % shard.count == shard.index - 1) {
      positions.push_back(position);
    }
    return true;
  });
  return positions;
}

bool finish(store::SweepStore& store) {
  try {
    return store.finish();
  } catch (const base::InputError& error) {
    throw base::InputError(fmt::format(
        "{}; all {} points are stored, and the same command once more puts them in order",
        error.what(), store.size()));
  }
}

SweepProgress run_points(const space::SweepPlan& plan, point::PointRunner& runner,
                         const executors::PointLimits& limits,
                         std::span<const std::uint64_t> positions, store::SweepStore& store,
                         executors::LocalExecutor& executor, const std::atomic<bool>& stop,
                         const std::function<void(const SweepProgress&)>& report) {
  return Coordinator(plan, runner, limits, positions, store, executor).run(stop, report);
}

SweepProgress run_sweep(const space::SweepPlan& plan, point::PointRunner& runner,
                        const executors::PointLimits& limits, const SweepShard& shard,
                        store::SweepStore& store, executors::LocalExecutor& executor,
                        const std::atomic<bool>& stop,
                        const std::function<void(const SweepProgress&)>& report) {
  return run_points(plan, runner, limits, positions_of(plan, shard), store, executor, stop, report);
}

}  // namespace sptc::sweep::execution
