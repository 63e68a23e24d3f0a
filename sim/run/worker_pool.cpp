// SPDX-License-Identifier: Apache-2.0
#include "sim/run/worker_pool.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sptc::run {
namespace {

using Event = WorkerPool::Event;
using Kind = Event::Kind;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{100};

/// The head of each message: its kind and how many bytes follow.
struct Header {
  std::uint64_t bytes = 0;
  Kind kind = Kind::kLost;
};
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

bool is_said_by_workers(const Header& header) {
  constexpr std::string_view kKinds = ".=!-?";
  return header.bytes <= kMostBytes && kKinds.find(static_cast<char>(header.kind)) != std::string_view::npos;
}

/// Nobody knows what is left behind in a worker after these.
bool is_replaced_after(const Event& event) {
  return event.kind == Kind::kNoMemory || event.kind == Kind::kBroken;
}

/// False where nobody reads any more.
bool write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

bool write_message(int socket, Kind kind, std::string_view bytes) {
  Header header;
  std::memset(static_cast<void*>(&header), 0, sizeof(header));  // its padding travels, too
  header.bytes = bytes.size();
  header.kind = kind;
  return write_all(socket, {reinterpret_cast<const char*>(&header), sizeof(header)}) && write_all(socket, bytes);
}

/// False at the end of what can be read.
bool read_all(int socket, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = ::read(socket, to, bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return false;
    }
    const auto read = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    to += read;
    bytes -= read;
  }
  return true;
}

/// Says that the machine lacks memory, processes or files.
[[noreturn]] void refuse_to_start() {
  throw base::InputError(fmt::format("a worker process cannot be started: {}", std::strerror(errno)));
}

/// What ends a program, and comes to all its processes from a terminal, timeout(1) or a scheduler.
constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP};

/// Holds these signals back, so that a child gets none before it is set up.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : kEnding) {
      sigaddset(&ending, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

pid_t parent_of_worker = -1;

/// Ends a worker by its parent's decision. Where that is gone, nobody else decides.
void leave_after_parent(int /*signal*/) {
  if (::getppid() != parent_of_worker) {
    ::_exit(0);
  }
  ::alarm(1);
}

void leave_signals_to(pid_t parent) {
  parent_of_worker = parent;
  struct sigaction action {};
  action.sa_handler = leave_after_parent;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  for (const int signal : kEnding) {
    ::sigaction(signal, &action, nullptr);
  }
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the worker process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("the worker process ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

WorkerPool::WorkerPool(std::size_t workers, Handler handler)
    : handler_(std::move(handler)), workers_(workers), owner_(::getpid()) {
  try {
    for (Worker& worker : workers_) {
      start(worker);
    }
  } catch (...) {
    std::for_each(workers_.begin(), workers_.end(), end);
    throw;
  }
}

WorkerPool::~WorkerPool() {
  leave_to_parent();
  std::for_each(workers_.begin(), workers_.end(), end);
}

/// Forgets the workers in a copy of the process that made the pool: they are not its own.
void WorkerPool::leave_to_parent() {
  if (owner_ == ::getpid()) {
    return;
  }
  owner_ = ::getpid();
  for (Worker& worker : workers_) {
    if (worker.socket >= 0) {
      ::close(worker.socket);
    }
    worker = {};
  }
}

void WorkerPool::start(Worker& worker) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    refuse_to_start();
  }
  const HeldSignals held;
  const pid_t parent = ::getpid();
  const bool by_main_thread = ::gettid() == parent;
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    refuse_to_start();
  }
  if (process == 0) {
    leave_signals_to(parent);
    if (by_main_thread) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it comes at the end of the thread that forked
    }
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    serve(parent, ends[1]);
  }
  ::close(ends[1]);
  worker = {process, ends[0], {}};
}

void WorkerPool::serve(pid_t parent, int socket) {
  // No other worker's socket, and no lock of the parent.
  constexpr int kSocket = STDERR_FILENO + 1;
  ::dup2(socket, kSocket);
  ::close_range(kSocket + 1, ~0U, 0);
  // The buffers of the parent are not the child's to flush: it always leaves by _exit().
  const auto say = [](Kind kind, std::string_view bytes) {
    if (!write_message(kSocket, kind, bytes)) {
      ::_exit(0);
    }
  };
  const Send send = [&](std::string_view part) { say(Kind::kPart, part); };
  std::string request;
  Header header;
  while (::getppid() == parent && read_all(kSocket, reinterpret_cast<char*>(&header), sizeof(header))) {
    try {
      request.resize(header.bytes);
      if (!read_all(kSocket, request.data(), request.size())) {
        break;
      }
      say(Kind::kAnswer, handler_(request, send));
    } catch (const base::InputError& error) {
      say(Kind::kRefused, error.what());
    } catch (const std::bad_alloc&) {
      say(Kind::kNoMemory, "");
    } catch (const std::exception& error) {
      say(Kind::kBroken, error.what());
    }
  }
  ::_exit(0);
}

std::string WorkerPool::end(Worker& worker) {
  if (worker.process < 0) {
    return "the worker process was ended";
  }
  ::close(std::exchange(worker.socket, -1));
  ::kill(worker.process, SIGKILL);
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(worker.process, &status, 0);
  } while (ended < 0 && errno == EINTR);
  worker = {};
  return ended < 0 ? "the worker process ended" : end_of(status);
}

void WorkerPool::stop(std::size_t worker) {
  leave_to_parent();
  end(workers_[worker]);
}

void WorkerPool::submit(std::size_t worker, std::string_view request) {
  leave_to_parent();
  if (workers_[worker].process < 0) {
    start(workers_[worker]);
  }
  // One that has just died is noticed by wait().
  write_message(workers_[worker].socket, Kind::kPart, request);
}

std::vector<Event> WorkerPool::wait(std::chrono::milliseconds timeout) {
  leave_to_parent();
  std::vector<pollfd> ready;
  ready.reserve(workers_.size());
  for (const Worker& worker : workers_) {
    ready.push_back({worker.socket, POLLIN, 0});  // poll() skips those below 0
  }
  std::vector<Event> events;
  if (::poll(ready.data(), ready.size(), static_cast<int>(timeout.count())) <= 0) {
    return events;
  }
  std::array<char, 1 << 17> buffer{};
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (ready[i].revents == 0) {
      continue;
    }
    const ssize_t count = ::read(workers_[i].socket, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      events.push_back({i, Kind::kLost, end(workers_[i])});
      continue;
    }
    workers_[i].received.append(buffer.data(), static_cast<std::size_t>(count));
    if (!take_messages(i, events)) {
      end(workers_[i]);
      events.push_back({i, Kind::kLost, kNoAnswerOfAWorker});
    } else if (!events.empty() && events.back().worker == i && is_replaced_after(events.back())) {
      end(workers_[i]);
    }
  }
  return events;
}

bool WorkerPool::take_messages(std::size_t worker, std::vector<Event>& events) {
  std::string& received = workers_[worker].received;
  std::size_t at = 0;
  Header header;
  bool good = true;
  while (received.size() - at >= sizeof(header)) {
    std::memcpy(static_cast<void*>(&header), received.data() + at, sizeof(header));
    good = is_said_by_workers(header);
    if (!good || received.size() - at - sizeof(header) < header.bytes) {
      break;
    }
    events.push_back({worker, header.kind, received.substr(at + sizeof(header), header.bytes)});
    at += sizeof(header) + header.bytes;
  }
  received.erase(0, at);
  return good;
}

std::string answer_of(Event event) {
  switch (event.kind) {
    case Kind::kAnswer:
      return std::move(event.bytes);
    case Kind::kRefused:
      throw base::InputError(event.bytes);
    case Kind::kNoMemory:
      throw std::bad_alloc();
    default:
      throw base::InternalError(event.bytes);
  }
}

std::optional<Event> request_of_one(WorkerPool& pool, std::string_view request, const Waiting& waiting) {
  base::ensure(pool.size() == 1, "a request to a pool of one");
  pool.wait(std::chrono::milliseconds(0));  // one that was lost since is replaced
  pool.submit(0, request);
  const auto start = SteadyClock::now();
  try {
    while (true) {
      auto timeout = kPollInterval;
      if (waiting.timeout_s) {
        const std::chrono::duration<double> spent = SteadyClock::now() - start;
        const double left = *waiting.timeout_s - spent.count();
        if (left <= 0) {
          pool.stop(0);
          return std::nullopt;
        }
        timeout = std::min(timeout, std::chrono::milliseconds(static_cast<int>(std::min(left * 1000 + 1, 1e3))));
      }
      for (Event& event : pool.wait(timeout)) {
        if (event.kind != Kind::kPart) {
          return std::move(event);
        }
        if (waiting.part) {
          waiting.part(event.bytes);
        }
      }
      if (waiting.poll) {
        waiting.poll();
      }
    }
  } catch (...) {
    pool.stop(0);
    throw;
  }
}

void for_each_in_workers(std::size_t workers, std::size_t count,
                         const std::function<std::string(std::size_t index)>& work,
                         const std::function<void(std::size_t index, Event)>& done) {
  const auto as_bytes = [](const std::size_t& index) {
    return std::string_view(reinterpret_cast<const char*>(&index), sizeof(index));
  };
  WorkerPool pool(std::min(workers, count), [&](std::string_view request, const WorkerPool::Send&) {
    std::size_t index = 0;
    std::memcpy(&index, request.data(), sizeof(index));
    return work(index);
  });
  std::vector<std::optional<std::size_t>> at(pool.size());  ///< of each worker that is busy
  std::size_t next = 0;
  const auto hand_out = [&](std::size_t worker) {
    if (next < count) {
      at[worker] = next++;
      pool.submit(worker, as_bytes(*at[worker]));
    }
  };
  for (std::size_t worker = 0; worker < pool.size(); ++worker) {
    hand_out(worker);
  }
  for (std::size_t left = count; left > 0;) {
    for (Event& event : pool.wait(kPollInterval)) {
      if (const auto index = std::exchange(at[event.worker], std::nullopt)) {
        hand_out(event.worker);
        done(*index, std::move(event));
        --left;
      }
    }
  }
}

ProgressCallback sent_progress(std::function<void(std::string_view part)> send) {
  return [send = std::move(send)](std::size_t done, std::size_t total, const std::string& next) {
    std::string bytes;
    nlohmann::json::to_cbor({done, total, next}, bytes);  // strings of any bytes
    send(bytes);
  };
}

std::function<void(std::string_view part)> received_progress(const ProgressCallback& progress) {
  if (!progress) {
    return {};
  }
  return [&progress](std::string_view part) {
    const auto step = nlohmann::json::from_cbor(part);
    progress(step.at(0).get<std::size_t>(), step.at(1).get<std::size_t>(), step.at(2).get<std::string>());
  };
}

}  // namespace sptc::run
