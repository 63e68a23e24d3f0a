// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/worker.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sptc::sweep {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 1000;
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

void append(std::string& bytes, const PointFigures& figures) {
  append(bytes, figures.names());
  append(bytes, figures.bytes());
}

bool take(std::string_view& bytes, PointFigures& figures) {
  std::string names;
  std::string values;
  if (!take(bytes, names) || !take(bytes, values)) {
    return false;
  }
  figures = {std::move(names), std::move(values)};
  return true;
}

PointOutcome failure(std::uint64_t position, const std::string& reason) {
  PointOutcome outcome;
  outcome.position = position;
  outcome.failed = true;
  outcome.reason = base::bounded_message(reason);
  return outcome;
}

PointOutcome run_here(const SweepPlan& plan, PointRunner& runner, const SweepPoint& point) {
  try {
    PointOutcome outcome = runner.run(plan, point);
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

/// Reads until the child closes its end; false where the time is up.
bool read_outcome(int descriptor, const std::optional<double>& timeout_s,
                  const std::function<void()>& while_waiting, std::string& bytes) {
  const auto start = SteadyClock::now();
  while (true) {
    int wait_ms = kPollMilliseconds;
    if (timeout_s) {
      const std::chrono::duration<double> spent = SteadyClock::now() - start;
      const double left = *timeout_s - spent.count();
      if (left <= 0) {
        return false;
      }
      wait_ms = static_cast<int>(std::min<double>(wait_ms, left * 1000 + 1));
    }
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) > 0) {
      char buffer[65536];
      const ssize_t count = ::read(descriptor, buffer, sizeof(buffer));
      if (count == 0) {
        return true;
      }
      if (count > 0) {
        bytes.append(buffer, static_cast<std::size_t>(count));
      }
    }
    if (while_waiting) {
      while_waiting();
    }
  }
}

std::string reason_of(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the simulation was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("the simulation ended with exit code {} and no result", WEXITSTATUS(status));
}

PointOutcome run_isolated(const SweepPlan& plan, PointRunner& runner, const SweepPoint& point,
                          const PointLimits& limits, const std::function<void()>& while_waiting) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return failure(point.position, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return failure(point.position, fmt::format("no process: {}", std::strerror(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
      ::_exit(1);
    }
    ::close(ends[0]);
    if (limits.memory_mb) {
      limit_memory(*limits.memory_mb);
    }
    std::string outcome;
    append_bytes(run_here(plan, runner, point), outcome);
    write_all(ends[1], outcome);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string bytes;
  const bool in_time = read_outcome(ends[0], limits.timeout_s, while_waiting, bytes);
  ::close(ends[0]);
  if (!in_time) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return failure(point.position,
                   fmt::format("not done after the timeout of {} s", *limits.timeout_s));
  }
  std::size_t used = 0;
  const std::optional<PointOutcome> outcome = from_bytes(bytes, used);
  return outcome ? *outcome : failure(point.position, reason_of(status));
}

}  // namespace

void append_bytes(const PointOutcome& outcome, std::string& bytes) {
  append(bytes, outcome.position);
  append(bytes, outcome.failed ? 1 : 0);
  append(bytes, outcome.operations.size());
  for (const std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
    append(bytes, *text);
  }
  append(bytes, outcome.totals);
  for (const PointFigures& operation : outcome.operations) {
    append(bytes, operation);
  }
}

std::optional<PointOutcome> from_bytes(std::string_view bytes, std::size_t& used) {
  const std::size_t before = bytes.size();
  PointOutcome outcome;
  std::uint64_t failed = 0;
  std::uint64_t operations = 0;
  if (!take(bytes, outcome.position) || !take(bytes, failed) || !take(bytes, operations)) {
    return std::nullopt;
  }
  outcome.failed = failed != 0;
  for (std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
    if (!take(bytes, *text)) {
      return std::nullopt;
    }
  }
  if (!take(bytes, outcome.totals)) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (!take(bytes, outcome.operations.emplace_back())) {
      return std::nullopt;
    }
  }
  used = before - bytes.size();
  return outcome;
}

PointOutcome run_point(const SweepPlan& plan, PointRunner& runner, std::uint64_t position,
                       const PointLimits& limits, const std::function<void()>& while_waiting) {
  const SweepPoint point = plan.point(position);
  const bool isolated = limits.any() || runner.needs_process(plan, point);
  return isolated ? run_isolated(plan, runner, point, limits, while_waiting)
                  : run_here(plan, runner, point);
}

bool run_points(const SweepPlan& plan, PointRunner& runner,
                std::span<const std::uint64_t> positions, const PointLimits& limits,
                const std::function<bool(std::string_view outcomes)>& send,
                const std::function<void()>& while_waiting) {
  std::string outcomes;
  auto sent = SteadyClock::now();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    append_bytes(run_point(plan, runner, positions[i], limits, while_waiting), outcomes);
    const auto now = SteadyClock::now();
    if (i + 1 == positions.size() || outcomes.size() >= kSentBytes || now - sent >= kSentAfter) {
      if (!send(outcomes)) {
        return false;
      }
      outcomes.clear();
      sent = now;
    }
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
  return true;
}

}  // namespace sptc::sweep
