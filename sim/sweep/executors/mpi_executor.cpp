// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/executors/mpi_executor.h"

#include "models/base/error.h"
#include "sim/report/message.h"
#include "sim/sweep/executors/worker.h"
#include "sim/sweep/files/digest.h"

#include <boost/mpi.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <unistd.h>

namespace sptc::sweep::executors {
namespace {

namespace mpi = boost::mpi;
using SteadyClock = std::chrono::steady_clock;

enum Tag { kPositions = 1, kOutcomes, kAlive, kEnd, kLeave };

/// How often a rank speaks in the time after which it is given up.
constexpr int kHeartbeats = 10;
constexpr std::chrono::microseconds kPause{200};

class MpiExecutor : public Executor {
 public:
  MpiExecutor(const mpi::communicator& world, std::chrono::seconds silence)
      : world_(world), silence_(silence), ranks_(static_cast<std::size_t>(world.size() - 1)) {}

  std::size_t workers() const override { return ranks_.size(); }
  bool usable(std::size_t worker) const override { return !ranks_[worker].lost; }
  bool any_lost() const { return any_lost_; }

  void submit(std::size_t worker, std::span<const std::uint64_t> positions) override {
    Rank& rank = ranks_[worker];
    rank.heard = SteadyClock::now();
    rank.busy += positions.size();
    world_.send(static_cast<int>(worker) + 1, kPositions,
                std::vector<std::uint64_t>(positions.begin(), positions.end()));
  }

  std::vector<WorkerEvent> wait(std::chrono::milliseconds timeout) override {
    const auto end = SteadyClock::now() + timeout;
    std::vector<WorkerEvent> events;
    while (events.empty() && SteadyClock::now() < end) {
      while (const auto message = world_.iprobe(mpi::any_source, mpi::any_tag)) {
        receive(*message, events);
      }
      find_silent(events);
      if (events.empty()) {
        std::this_thread::sleep_for(kPause);
      }
    }
    return events;
  }

  /// No more work: the ranks end.
  void finish() { tell_ranks(kEnd); }

  /// The ranks end at once, whatever they are at, and without MPI_Finalize.
  void dismiss() {
    tell_ranks(kLeave);
    for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
      if (ranks_[worker].lost) {
        world_.isend(static_cast<int>(worker) + 1, kLeave);  // it may be slow and not dead
      }
    }
  }

 private:
  struct Rank {
    bool lost = false;
    std::size_t busy = 0;  ///< points that it has
    SteadyClock::time_point heard;
  };

  void tell_ranks(Tag tag) {
    for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
      if (!ranks_[worker].lost) {
        world_.send(static_cast<int>(worker) + 1, tag);
      }
    }
  }

  void receive(const mpi::status& message, std::vector<WorkerEvent>& events) {
    const auto worker = static_cast<std::size_t>(message.source()) - 1;
    Rank& rank = ranks_[worker];
    if (message.tag() != kOutcomes) {
      rank.heard = SteadyClock::now();
      world_.recv(message.source(), message.tag());
      return;
    }
    const std::string* const bytes = receive_whole(message);
    if (bytes == nullptr) {
      return;  // find_silent() gives the rank up
    }
    rank.heard = SteadyClock::now();
    if (rank.lost) {
      return;  // given up, and speaks again: its points went elsewhere
    }
    const std::size_t before = events.size();
    const bool all_told = append_events(worker, *bytes, events);
    rank.busy -= std::min(rank.busy, events.size() - before);
    if (!all_told) {
      give_up(worker, run::kNoAnswerOfAWorker, events);
    }
  }

  void give_up(std::size_t worker, std::string reason, std::vector<WorkerEvent>& events) {
    ranks_[worker].lost = any_lost_ = true;
    WorkerEvent event{worker, true, {}};
    event.outcome.failed = true;
    event.outcome.reason = std::move(reason);
    events.push_back(std::move(event));
  }

  /// The bytes of a message that has begun to come, valid until the next one; null where its rank
  /// dies before the end of it, which a receive of MPI would wait for for ever.
  const std::string* receive_whole(const mpi::status& message) {
    const int size = message.count<char>().value_or(0);
    auto bytes = std::make_unique<std::string>(static_cast<std::size_t>(size), '\0');
    mpi::request request = world_.irecv(message.source(), message.tag(), bytes->data(), size);
    const auto begin = SteadyClock::now();
    bool whole = request.test().has_value();
    while (!whole && SteadyClock::now() - begin < silence_) {
      std::this_thread::sleep_for(kPause);
      whole = request.test().has_value();
    }
    if (!whole) {
      unfinished_.push_back(std::move(bytes));  // MPI may still write to it
      return nullptr;
    }
    received_ = std::move(*bytes);
    return &received_;
  }

  void find_silent(std::vector<WorkerEvent>& events) {
    const auto now = SteadyClock::now();
    for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
      const Rank& rank = ranks_[worker];
      if (rank.busy > 0 && !rank.lost && now - rank.heard > silence_) {
        give_up(worker, fmt::format("rank {} was silent for {} s", worker + 1, silence_.count()),
                events);
      }
    }
  }

  const mpi::communicator& world_;
  std::chrono::seconds silence_;  ///< of a rank that is given up
  std::vector<Rank> ranks_;
  std::string received_;
  std::vector<std::unique_ptr<std::string>> unfinished_;
  bool any_lost_ = false;
};

/// Simulates until rank 0 says that this is the end.
void serve(const mpi::communicator& world, const space::SweepPlan& plan, point::PointRunner& runner,
           const PointLimits& limits, SteadyClock::duration heartbeat) {
  PointWorker worker(plan, runner, limits, PointWorker::Isolation::kOfSystemC);
  auto spoken = SteadyClock::now();
  const auto leave_if_told = [&] {
    if (world.iprobe(0, kLeave)) {
      std::_Exit(0);
    }
  };
  const auto while_waiting = [&] {
    leave_if_told();
    if (SteadyClock::now() - spoken > heartbeat) {
      spoken = SteadyClock::now();
      world.send(0, kAlive);
    }
  };
  while (true) {
    leave_if_told();
    if (world.iprobe(0, kEnd)) {
      world.recv(0, kEnd);
      return;
    }
    if (!world.iprobe(0, kPositions)) {
      std::this_thread::sleep_for(kPause);  // MPI's own waiting takes a processor
      continue;
    }
    std::vector<std::uint64_t> positions;
    world.recv(0, kPositions, positions);
    worker.run(
        positions,
        [&](std::string_view outcomes) {
          world.send(0, kOutcomes, outcomes.data(), static_cast<int>(outcomes.size()));
          spoken = SteadyClock::now();
          leave_if_told();
        },
        while_waiting);
  }
}

/// The ranks whose program or inputs are not those of rank 0.
std::vector<int> strangers(const mpi::communicator& world, const space::SweepPlan& plan) {
  std::vector<std::string> digests;
  mpi::all_gather(world, plan.digest() + files::program_digest(), digests);
  std::vector<int> result;
  for (int rank = 1; rank < world.size(); ++rank) {
    if (digests[static_cast<std::size_t>(rank)] != digests.front()) {
      result.push_back(rank);
    }
  }
  return result;
}

[[noreturn]] void abort_all(int code) {
  std::fflush(stderr);
  mpi::environment::abort(code);
  std::_Exit(code);
}

/// Whether mpirun goes on without ranks that die (Open MPI: --enable-recovery).
bool outlives_ranks() {
  const char* const recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string_view(recovery) == "1";
}

/// With --enable-recovery mpirun forgets the exit code of every rank and ends with 0. A signal ends
/// it, and what is left of the job, with 1.
void end_launcher() {
  constexpr std::chrono::seconds kPatience{10};
  std::error_code error;
  const auto program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), error);
  if (program.filename() == "orterun") {
    std::signal(SIGTERM, SIG_DFL);
    ::kill(::getppid(), SIGTERM);
    std::this_thread::sleep_for(kPatience);  // in which it ends this rank
  }
}

/// Ends all ranks. MPI_Finalize would wait for the dead, here and in each rank.
[[noreturn]] void end_all(MpiExecutor& executor, int code) {
  if (!outlives_ranks()) {
    abort_all(code);
  }
  executor.dismiss();
  std::fflush(stderr);
  if (code != 0) {
    end_launcher();
  }
  std::_Exit(code);
}

/// The exit code of `work`; what it throws is said, and is one too.
int code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (...) {
    return report::report_exception();
  }
}

}  // namespace

int run_with_mpi(const space::SweepPlan& plan, point::PointRunner& runner,
                 const PointLimits& limits, std::chrono::seconds silence, const MpiRoot& root) {
  constexpr bool kAbortOnException = false;  // what is refused here has an exit code of its own
  mpi::environment environment(kAbortOnException);
  const mpi::communicator world;
  if (world.size() < 2) {
    throw base::InputError(
        "--mpi: rank 0 only hands out the points; start at least two: mpirun -n 2 ...");
  }
  const std::vector<int> others = strangers(world, plan);
  if (!others.empty()) {
    if (world.rank() == 0) {
      throw base::InputError(fmt::format(
          "--mpi: rank {} has another program, spec, workload or architecture than rank 0",
          others.front()));
    }
    return 2;
  }
  // From here on ranks wait for each other: nothing but an abort ends them early.
  if (world.rank() != 0) {
    const int code = code_of([&] {
      serve(world, plan, runner, limits, SteadyClock::duration(silence) / kHeartbeats);
      return 0;
    });
    if (code != 0) {
      abort_all(code);
    }
    return code;
  }
  constexpr int kSomeFailed = 1;
  MpiExecutor executor(world, silence);
  const int code = code_of([&] { return root(executor); });
  if (code > kSomeFailed || executor.any_lost() || outlives_ranks()) {
    end_all(executor, code);
  }
  executor.finish();
  return code;
}

}  // namespace sptc::sweep::executors
