// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/local_executor.h"

#include "models/base/error.h"
#include "sim/sweep/worker.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sptc::sweep {
namespace {

constexpr std::size_t kMaxRequest = 512;  // positions read at once

}  // namespace

LocalExecutor::LocalExecutor(const SweepPlan& plan, PointRunner& runner, const PointLimits& limits,
                             std::size_t workers)
    : plan_(plan), runner_(runner), limits_(limits), processes_(workers) {
  for (Process& process : processes_) {
    start(process);
  }
}

LocalExecutor::~LocalExecutor() {
  for (Process& process : processes_) {
    end(process);
  }
}

void LocalExecutor::start(Process& process) {
  int requests[2];
  int outcomes[2];
  if (::pipe(requests) != 0 || ::pipe(outcomes) != 0) {
    throw base::InputError(fmt::format(
        "no pipe to a worker process: {}; fewer --jobs need fewer files", std::strerror(errno)));
  }
  const pid_t parent = ::getpid();
  process.id = ::fork();
  if (process.id < 0) {
    throw base::InputError(fmt::format("no worker process: {}", std::strerror(errno)));
  }
  if (process.id == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGINT, SIG_IGN);  // the parent decides, and ends us
    std::signal(SIGTERM, SIG_DFL);
    if (::getppid() != parent) {
      ::_exit(1);
    }
    // A worker holds no other worker's pipe and not the lock on the results.
    for (int descriptor = 3; descriptor < 1024; ++descriptor) {
      if (descriptor != requests[0] && descriptor != outcomes[1]) {
        ::close(descriptor);
      }
    }
    serve(requests[0], outcomes[1]);
    ::_exit(0);
  }
  ::close(requests[0]);
  ::close(outcomes[1]);
  process.requests = requests[1];
  process.outcomes = outcomes[0];
  process.received.clear();
}

void LocalExecutor::serve(int requests, int outcomes) {
  std::array<std::uint64_t, kMaxRequest> positions{};
  std::size_t got = 0;  // bytes
  while (true) {
    const ssize_t count =
        ::read(requests, reinterpret_cast<char*>(positions.data()) + got, sizeof(positions) - got);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return;
    }
    got += static_cast<std::size_t>(count);
    const std::size_t whole = got / sizeof(positions[0]);
    if (!run_points(plan_, runner_, std::span(positions).first(whole), limits_,
                    [&](std::string_view bytes) { return write_all(outcomes, bytes); })) {
      return;
    }
    got %= sizeof(positions[0]);
    positions[0] = positions[whole % kMaxRequest];  // a number of which a part is here
  }
}

void LocalExecutor::submit(std::size_t worker, std::span<const std::uint64_t> positions) {
  // A worker that has just died is noticed by wait(); SIGPIPE is ignored by the program.
  write_all(processes_[worker].requests,
            {reinterpret_cast<const char*>(positions.data()), positions.size_bytes()});
}

std::vector<WorkerEvent> LocalExecutor::wait(std::chrono::milliseconds timeout) {
  std::vector<pollfd> ready;
  for (const Process& process : processes_) {
    ready.push_back({process.outcomes, POLLIN, 0});
  }
  std::vector<WorkerEvent> events;
  if (::poll(ready.data(), ready.size(), static_cast<int>(timeout.count())) <= 0) {
    return events;
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (ready[i].revents == 0) {
      continue;
    }
    Process& process = processes_[i];
    char buffer[1 << 17];
    const ssize_t count = ::read(process.outcomes, buffer, sizeof(buffer));
    if (count <= 0) {
      WorkerEvent event{i, true, {}};
      event.outcome.failed = true;
      event.outcome.reason = end(process);
      events.push_back(std::move(event));
      start(process);
      continue;
    }
    process.received.append(buffer, static_cast<std::size_t>(count));
    std::size_t at = 0;
    std::size_t used = 0;
    while (auto outcome = from_bytes(std::string_view(process.received).substr(at), used)) {
      events.push_back({i, false, std::move(*outcome)});
      at += used;
    }
    process.received.erase(0, at);
  }
  return events;
}

std::string LocalExecutor::end(Process& process) {
  ::close(process.requests);
  ::close(process.outcomes);
  ::kill(process.id, SIGKILL);
  int status = 0;
  while (::waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status)
             ? fmt::format("the worker process was ended by signal {} ({})", WTERMSIG(status),
                           ::strsignal(WTERMSIG(status)))
             : fmt::format("the worker process ended with exit code {}", WEXITSTATUS(status));
}

void LocalExecutor::finish() {
  for (Process& process : processes_) {
    ::close(process.requests);
    process.requests = -1;
  }
}

}  // namespace sptc::sweep
