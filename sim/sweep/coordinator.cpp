// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/coordinator.h"

#include "sim/io/text_file.h"
#include "sim/run/worker_pool.h"
#include "sim/sweep/sweep_status.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace sptc::sweep {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Closed-form points take microseconds: they travel in batches, and the next waits at the worker.
constexpr std::size_t kBatch = 128;
constexpr std::chrono::milliseconds kReportInterval{200};
// A worker sends what it has at this size or age.
constexpr std::size_t kSentBytes = 1 << 16;
constexpr std::chrono::milliseconds kSentAfter{5};

struct PendingPoint {
  std::uint64_t position;
  float seconds;
  bool alone;  ///< not in a batch: SystemC simulates it, or it may have ended its worker
};

/// Leaves this process `megabytes` of address space beyond what it has.
void limit_memory(std::uint64_t megabytes) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const rlim_t bytes = used + (megabytes << 20);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// Simulates, in a worker, the positions of a request, and sends several outcomes at a time.
run::WorkerPool::Handler handler_of(const SweepWork& work) {
  return [&work](std::string_view request, const run::WorkerPool::Send& send) {
    if (work.limits.memory_mb) {
      limit_memory(*work.limits.memory_mb);
    }
    const std::vector<std::uint64_t> positions = run::rows_of<std::uint64_t>(request);
    std::string outcomes;
    auto sent = SteadyClock::now();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      append_bytes(run_point(work.plan, work.runner, positions[i]), outcomes);
      const auto now = SteadyClock::now();
      if (i + 1 == positions.size() || outcomes.size() >= kSentBytes || now - sent >= kSentAfter) {
        send(outcomes);
        outcomes.clear();
        sent = now;
      }
    }
    return std::string();
  };
}

class Coordinator {
 public:
  Coordinator(const SweepWork& work, std::span<const std::uint64_t> positions, SweepStore& store)
      : work_(work), store_(store), pool_(work.jobs, handler_of(work)), in_flight_(work.jobs), begun_(work.jobs) {
    progress_.total = positions.size();
    for (const std::uint64_t position : positions) {
      if (store.has(position)) {
        ++progress_.reused;
        continue;
      }
      const SweepPoint point = work.plan.point(position);
      const auto seconds = static_cast<float>(work.runner.estimated_seconds(work.plan, point));
      const bool alone = work.limits.any() || work.runner.needs_process(point);
      pending_.push_back({position, seconds, alone});
    }
    // The longest first; what takes microseconds in order of the positions.
    std::ranges::stable_sort(pending_, [](const auto& a, const auto& b) {
      return a.alone != b.alone ? a.alone : a.alone ? a.seconds > b.seconds : a.position < b.position;
    });
    for (const PendingPoint& point : pending_) {
      estimate_left_ += point.seconds;
    }
  }

  SweepProgress run() {
    auto reported = start_ = SteadyClock::now();
    while (!work_.stop && progress_.reused + progress_.done < progress_.total) {
      hand_out();
      take_in(pool_.wait(patience()));
      end_late_points();
      const auto now = SteadyClock::now();
      if (work_.report && now - reported >= kReportInterval) {
        reported = now;
        measure();
        work_.report(progress_);
      }
    }
    store_ready();
    progress_.interrupted = progress_.reused + progress_.done < progress_.total;
    measure();
    return progress_;
  }

 private:
  void hand_out() {
    for (std::size_t worker = 0; worker < pool_.size(); ++worker) {
      std::vector<std::uint64_t> batch;
      auto& flight = in_flight_[worker];
      if (flight.size() > batch_limit() / 2) {
        continue;
      }
      while (!pending_.empty()) {
        const PendingPoint& next = pending_.front();
        const bool fits =
            next.alone ? flight.empty() : flight.size() < batch_limit() && (flight.empty() || !flight.back().alone);
        if (!fits) {
          break;
        }
        flight.push_back(next);
        batch.push_back(next.position);
        pending_.pop_front();
      }
      if (!batch.empty()) {
        pool_.submit(worker, run::bytes_of(batch));
        begun_[worker] = SteadyClock::now();
      }
    }
  }

  /// What is left of the time that the point of `worker` may take.
  std::chrono::duration<double> time_left(std::size_t worker) const {
    const std::chrono::duration<double> allowed(*work_.limits.timeout_s);
    return allowed - (SteadyClock::now() - begun_[worker]);
  }

  /// Until the next report, or until the time of a point is up.
  std::chrono::milliseconds patience() const {
    std::chrono::milliseconds least = kReportInterval;
    for (std::size_t worker = 0; work_.limits.timeout_s && worker < pool_.size(); ++worker) {
      if (!in_flight_[worker].empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_left(worker));
        least = std::clamp(left, std::chrono::milliseconds(0), least);
      }
    }
    return least;
  }

  void end_late_points() {
    for (std::size_t worker = 0; work_.limits.timeout_s && worker < pool_.size(); ++worker) {
      if (!in_flight_[worker].empty() && time_left(worker).count() <= 0) {
        pool_.stop(worker);
        lose(worker, fmt::format("not done after the timeout of {} s", *work_.limits.timeout_s));
      }
    }
  }

  /// Small enough that the last points are shared by all workers.
  std::size_t batch_limit() const {
    return std::clamp<std::size_t>(pending_.size() / (4 * pool_.size()), 1, 2 * kBatch);
  }

  void take_in(std::vector<run::WorkerPool::Event> events) {
    using Kind = run::WorkerPool::Event::Kind;
    std::set<std::size_t> stopped;  // what else they said does not count
    for (run::WorkerPool::Event& event : events) {
      if (event.kind == Kind::kAnswer || stopped.contains(event.worker)) {
        continue;
      }
      const bool is_part = event.kind == Kind::kPart;
      const bool is_good = is_part && take_in_outcomes(event.worker, event.bytes);
      if (is_good && !work_.limits.memory_mb) {
        continue;
      }
      pool_.stop(event.worker);  // what a good point took is no less for the next
      stopped.insert(event.worker);
      if (!is_good) {
        lose(event.worker, is_part                         ? std::string(run::kNoAnswerOfAWorker)
                           : event.kind == Kind::kNoMemory ? std::string("not enough memory")
                                                           : std::move(event.bytes));
      }
    }
    if (ready_.size() >= kBatch || SteadyClock::now() - stored_ >= kReportInterval) {
      store_ready();
    }
  }

  /// Counts `outcomes`; false where something among them is none: its worker is lost.
  bool take_in_outcomes(std::size_t worker, std::string_view outcomes) {
    while (!outcomes.empty()) {
      std::optional<PointOutcome> outcome = take_outcome(outcomes);
      if (!outcome) {
        return false;
      }
      take_in_outcome(worker, *std::move(outcome));
    }
    return true;
  }

  /// Counts the outcome of the oldest position that the worker had not reported.
  void take_in_outcome(std::size_t worker, PointOutcome outcome) {
    auto& flight = in_flight_[worker];
    base::ensure(!flight.empty(), "a worker reports a point that it did not get");
    const PendingPoint point = flight.front();
    flight.pop_front();
    base::ensure(outcome.position == point.position, "a worker reports out of order");
    ++progress_.done;
    progress_.failures += outcome.failed;
    estimate_left_ -= point.seconds;
    estimate_done_ += point.seconds;
    if (point.alone) {
      store({&outcome, 1});
    } else {
      ready_.push_back(std::move(outcome));
    }
  }

  /// Counts what a worker that died had not reported.
  void lose(std::size_t worker, const std::string& reason) {
    auto& flight = in_flight_[worker];
    if (flight.size() == 1) {
      take_in_outcome(worker, failure(flight.front().position, reason));
      return;
    }
    // Which of them it was shows when each is simulated without the others.
    for (PendingPoint& point : flight) {
      point.alone = true;
    }
    pending_.insert(pending_.begin(), flight.begin(), flight.end());
    flight.clear();
  }

  void store_ready() {
    store(ready_);
    ready_.clear();
    stored_ = SteadyClock::now();
  }

  void store(std::span<const PointOutcome> batch) {
    if (batch.empty()) {
      return;
    }
    try {
      store_.add(batch);
    } catch (const base::InputError& error) {
      io::refuse("{}; {} points are stored, and the rest follows when the command is repeated", error.what(),
                 store_.size());
    }
  }

  void measure() {
    const std::chrono::duration<double> spent = SteadyClock::now() - start_;
    progress_.seconds = spent.count();
    progress_.seconds_left = estimate_done_ > 0 ? spent.count() * std::max(0.0, estimate_left_) / estimate_done_ : 0;
  }

  const SweepWork& work_;
  SweepStore& store_;
  run::WorkerPool pool_;  ///< forked before the sweep grows in memory
  std::deque<PendingPoint> pending_;
  std::vector<PointOutcome> ready_;  ///< done, and soon stored
  SteadyClock::time_point stored_ = SteadyClock::now();
  std::vector<std::deque<PendingPoint>> in_flight_;
  std::vector<SteadyClock::time_point> begun_;  ///< when each worker got its last points
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

std::vector<std::uint64_t> positions_of(const SweepPlan& plan, const SweepShard& shard) {
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

SweepProgress run_points(const SweepWork& work, std::span<const std::uint64_t> positions, SweepStore& store) {
  return Coordinator(work, positions, store).run();
}

SweepProgress run_sweep(const SweepWork& work, const SweepShard& shard, SweepStore& store) {
  RunMarker mark(store.file(), shard);
  SweepWork marked = work;
  marked.report = [&](const SweepProgress& now) {
    mark.update(now);
    if (work.report) {
      work.report(now);
    }
  };
  SweepProgress progress = run_points(marked, positions_of(work.plan, shard), store);
  try {
    progress.in_order = progress.interrupted || store.finish();
  } catch (const base::InputError& error) {
    io::refuse("{}; all {} points are stored, and the same command once more puts them in order", error.what(),
               store.size());
  }
  return progress;
}

}  // namespace sptc::sweep
