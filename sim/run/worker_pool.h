// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <type_traits>
#include <vector>

namespace sptc::run {

/// Why a worker is lost whose answer cannot be read.
inline constexpr const char* kNoAnswerOfAWorker = "the worker process answered what no worker answers";

/// Child processes that answer requests, bytes for bytes, one after the other. All processes of the
/// simulator are these: what crashes, hangs or is killed costs one request and not the program.
///
/// A worker is a copy (fork) of this process at its start. It has the standard streams and no other
/// open file, leaves SIGINT, SIGTERM and SIGHUP to this process, and ends with the pool or with
/// this process. One that is lost is replaced at its next request. A pool belongs to one thread at
/// a time; to a copy of this process that somebody else forks, it has no workers yet.
class WorkerPool {
 public:
  using Send = std::function<void(std::string_view part)>;
  /// The answer to `request`, made in the worker. What it gives to `send` arrives before, as parts.
  using Handler = std::function<std::string(std::string_view request, const Send& send)>;

  /// What a worker says.
  struct Event {
    enum class Kind : char {
      kPart = '.',
      kAnswer = '=',
      kRefused = '!',   ///< the handler threw InputError, whose sentence `bytes` are
      kNoMemory = '-',  ///< std::bad_alloc
      kBroken = '?',    ///< another exception
      kLost = 'x',      ///< the worker is gone; `bytes` say how
    };
    std::size_t worker = 0;
    Kind kind = Kind::kLost;
    std::string bytes;
  };

  /// Starts `workers`. Throws InputError where the machine has no room for one more process.
  WorkerPool(std::size_t workers, Handler handler);
  /// Ends the workers, busy or not.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t size() const { return workers_.size(); }

  /// Throws InputError where the worker was lost and cannot be replaced.
  void submit(std::size_t worker, std::string_view request);
  /// Waits until a worker says something, at most `timeout`.
  std::vector<Event> wait(std::chrono::milliseconds timeout);
  /// Ends the worker, whatever it is at.
  void stop(std::size_t worker);

 private:
  struct Worker {
    pid_t process = -1;  ///< -1: ended
    int socket = -1;
    std::string received;
  };

  void start(Worker& worker);
  [[noreturn]] void serve(pid_t parent, int socket);
  void leave_to_parent();
  /// Ends the worker and says how it ended.
  static std::string end(Worker& worker);
  /// Moves whole messages out of what was received; false where it is none of a worker.
  bool take_messages(std::size_t worker, std::vector<Event>& events);

  Handler handler_;
  std::vector<Worker> workers_;
  pid_t owner_;
};

/// The bytes of an answer. Throws what the handler threw: InputError, std::bad_alloc; and
/// InternalError where the worker is lost or broken.
std::string answer_of(WorkerPool::Event event);

/// What a caller may do while it waits for an answer. Everything may be left out.
struct Waiting {
  std::function<void(std::string_view part)> part = {};
  std::function<void()> poll = {};       ///< called ten times a second
  std::optional<double> timeout_s = {};  ///< of the wall clock; then the worker is ended
};

/// The last event of a request to the only worker of `pool`; nothing where the time was up. What
/// `waiting` throws ends the worker and leaves.
std::optional<WorkerPool::Event> request_of_one(WorkerPool& pool, std::string_view request, const Waiting& waiting);

/// work(i) for every i below `count`, each by the next idle one of at most `workers` processes.
/// `done` hears how each ended, in any order. What `done` throws ends them all.
void for_each_in_workers(std::size_t workers, std::size_t count,
                         const std::function<std::string(std::size_t index)>& work,
                         const std::function<void(std::size_t index, WorkerPool::Event)>& done);

/// Called before each operation and once at the end: operations done, of how many, and the next
/// one's name.
using ProgressCallback = std::function<void(std::size_t done, std::size_t total, const std::string& next)>;

/// Sends each step to the process that waits for the answer; called in a worker (WorkerPool).
ProgressCallback sent_progress(std::function<void(std::string_view part)> send);

/// What takes such steps there and calls `progress`, which must outlive it: a Waiting::part. Empty
/// where `progress` is.
std::function<void(std::string_view part)> received_progress(const ProgressCallback& progress);

/// `rows` as bytes that travel between processes.
template <typename Row>
std::string bytes_of(const std::vector<Row>& rows) {
  static_assert(std::is_trivially_copyable_v<Row>, "rows travel between processes");
  std::string bytes(rows.size() * sizeof(Row), '\0');
  std::memcpy(bytes.data(), rows.data(), bytes.size());
  return bytes;
}

/// What bytes_of() was given.
template <typename Row>
std::vector<Row> rows_of(std::string_view bytes) {
  static_assert(std::is_trivially_copyable_v<Row>, "rows travel between processes");
  base::ensure(bytes.size() % sizeof(Row) == 0, "a process returned part of a row");
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  std::memcpy(rows.data(), bytes.data(), bytes.size());
  return rows;
}

}  // namespace sptc::run
