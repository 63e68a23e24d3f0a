// SPDX-License-Identifier: Apache-2.0
#include "sim/run/worker_pool.h"

#include "models/base/error.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/sanitizers.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sptc::run {
namespace {

using Kind = WorkerPool::Event::Kind;

/// Does what the request says.
std::string act(std::string_view request, const WorkerPool::Send& send) {
  if (request == "who") {
    return std::to_string(::getpid());
  }
  if (request == "parts") {
    send("one");
    send("two");
  } else if (request == "refuse") {
    throw base::InputError("m does not fit");
  } else if (request == "no memory") {
    throw std::bad_alloc();
  } else if (request == "break") {
    throw std::runtime_error("broken");
  } else if (request == "die") {
    ::raise(SIGKILL);
  } else if (request == "exit") {
    ::_exit(7);
  } else if (request == "hang") {
    while (true) {
      ::pause();
    }
  } else if (request == "babble") {
    const std::string garbage(64, '\xa5');
    ::send(STDERR_FILENO + 1, garbage.data(), garbage.size(), 0);
    ::pause();
  } else if (request == "files") {
    int open = 0;
    for (int file = 0; file < 1024; ++file) {
      open += ::fcntl(file, F_GETFD) >= 0 ? 1 : 0;
    }
    return std::to_string(open);
  }
  return std::string(request) + "!";
}

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPool pool{1, act};

  std::string ask(std::string_view request, const Waiting& waiting = {}) {
    return answer_of(request_of_one(pool, request, waiting).value());
  }
  std::string message_of(std::string_view request) {
    try {
      ask(request);
    } catch (const base::InternalError& error) {
      return error.what();
    }
    return "nothing thrown";
  }
};

TEST_F(WorkerPoolTest, AnswersAnyBytesOfAnyLengthInOneOtherProcess) {
  std::string bytes(1 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 31);
  }
  EXPECT_EQ(ask(bytes), bytes + "!");
  EXPECT_EQ(ask(""), "!");
  const std::string process = ask("who");
  EXPECT_NE(process, std::to_string(::getpid()));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(ask("who"), process);
  }
}

TEST_F(WorkerPoolTest, SendsPartsBeforeTheAnswer) {
  std::string parts;
  EXPECT_EQ(ask("parts", {[&](std::string_view part) { parts += part; }}), "parts!");
  EXPECT_EQ(parts, "onetwo");
}

TEST(WorkerProgress, ArrivesStepByStepWithNamesOfAnyBytes) {
  WorkerPool pool(1, [](std::string_view, const WorkerPool::Send& send) {
    const ProgressCallback progress = sent_progress(send);
    progress(0, 2, "\xff layer");
    progress(2, 2, "");
    return std::string();
  });
  std::string steps;
  const ProgressCallback heard = [&](std::size_t done, std::size_t total, const std::string& next) {
    steps += std::to_string(done) + "/" + std::to_string(total) + next + ";";
  };
  answer_of(request_of_one(pool, "", {received_progress(heard), {}, {}}).value());
  EXPECT_EQ(steps, "0/2\xff layer;2/2;");
  EXPECT_FALSE(received_progress({}));
}

TEST_F(WorkerPoolTest, PassesOnWhatTheHandlerThrowsAndGoesOn) {
  const std::string process = ask("who");
  support::expect_input_error([&] { ask("refuse"); }, {"m does not fit"});
  EXPECT_EQ(ask("who"), process) << "a refusal is an answer";
  EXPECT_THROW(ask("no memory"), std::bad_alloc);
  EXPECT_EQ(message_of("break"), "broken");
  EXPECT_NE(ask("who"), process) << "what broke is replaced";
}

TEST_F(WorkerPoolTest, SaysHowAWorkerWasLostAndReplacesIt) {
  EXPECT_EQ(message_of("die"), "the worker process was ended by signal 9 (Killed)");
  EXPECT_EQ(message_of("exit"), "the worker process ended with exit code 7");
  EXPECT_EQ(message_of("babble"), "the worker process answered what no worker answers");
  EXPECT_EQ(ask("next"), "next!");
}

TEST_F(WorkerPoolTest, OneThatWasKilledWhileIdleCostsNothing) {
  const std::string process = ask("who");
  ::kill(std::stoi(process), SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NE(ask("who"), process);
}

TEST_F(WorkerPoolTest, AHangingWorkerIsEndedByATimeoutOrByWhoeverPolls) {
  EXPECT_FALSE(request_of_one(pool, "hang", {{}, {}, 0.2}));
  EXPECT_EQ(ask("next"), "next!");
  const Waiting impatient{{}, [] { throw std::domain_error("enough"); }};
  EXPECT_THROW(request_of_one(pool, "hang", impatient), std::domain_error);
  EXPECT_EQ(ask("next"), "next!");
}

TEST_F(WorkerPoolTest, LeavesSignalsThatEndAProgramToItsParent) {
  const std::string process = ask("who");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::kill(std::stoi(process), signal);
    EXPECT_EQ(ask("who"), process) << signal;
  }
}

// Linux tells a worker of the end of its parent only where the main thread started it.
TEST(WorkerPool, AWorkerThatWasToEndDoesSoAfterItsParent) {
  if (support::kThreadSanitizer) {
    GTEST_SKIP() << "libtsan 12 runs no handler of signals in a copy of a process with threads";
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that we can wait for the worker
  const pid_t parent = ::fork();
  if (parent == 0) {
    std::thread([&] {
      WorkerPool pool(1, act);
      const pid_t worker = std::stoi(answer_of(request_of_one(pool, "who", {}).value()));
      if (::write(ends[1], &worker, sizeof(worker)) == sizeof(worker)) {
        request_of_one(pool, "hang", {});
      }
    }).join();
    ::_exit(1);
  }
  pid_t worker = 0;
  ASSERT_EQ(::read(ends[0], &worker, sizeof(worker)), static_cast<ssize_t>(sizeof(worker)));
  ::kill(worker, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it hears of it before
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  int status = 1;
  pid_t ended = 0;
  for (int tenth = 0; tenth < 200 && ended == 0; ++tenth) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ended = ::waitpid(worker, &status, WNOHANG);
  }
  if (ended == 0) {
    ::kill(worker, SIGKILL);
  }
  EXPECT_EQ(ended, worker);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(WorkerPoolTest, AWorkerHasTheStandardStreamsAndItsSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  WorkerPool other(1, act);
  EXPECT_EQ(answer_of(request_of_one(other, "files", {}).value()), "4");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(WorkerPoolTest, ACopyOfTheProcessGetsWorkersOfItsOwn) {
  const std::string process = ask("who");
  const pid_t copy = ::fork();
  if (copy == 0) {
    ::_exit(ask("who") != process ? 0 : 1);
  }
  int status = 1;
  ::waitpid(copy, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ask("who"), process) << "the copy left ours alone";
}

TEST_F(WorkerPoolTest, AWorkerStaysWhereTheThreadThatStartedItEnds) {
  std::string process;
  std::optional<WorkerPool> other;
  std::thread([&] {
    other.emplace(1, act);
    process = answer_of(request_of_one(*other, "who", {}).value());
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(answer_of(request_of_one(*other, "who", {}).value()), process);
}

TEST(ForEachInWorkers, DoesEachOnceThoughWorkersAreLost) {
  std::set<std::size_t> answered;
  std::set<std::size_t> lost;
  std::set<std::string> processes;
  for_each_in_workers(
      3, 40, [](std::size_t i) { return i % 10 == 4 ? act("die", {}) : std::to_string(i) + " " + act("who", {}); },
      [&](std::size_t i, WorkerPool::Event event) {
        if (event.kind == Kind::kAnswer) {
          const std::string begin = std::to_string(i) + " ";
          EXPECT_TRUE(event.bytes.starts_with(begin)) << event.bytes;
          processes.insert(event.bytes.substr(begin.size()));
          EXPECT_TRUE(answered.insert(i).second);
        } else {
          EXPECT_EQ(event.kind, Kind::kLost);
          EXPECT_TRUE(lost.insert(i).second);
        }
      });
  EXPECT_EQ(lost, (std::set<std::size_t>{4, 14, 24, 34}));
  EXPECT_EQ(answered.size(), 36U);
  EXPECT_LE(processes.size(), 7U) << "three, and one for each that was lost";
}

TEST(ForEachInWorkers, EndsAllWhereTheCallerThrows) {
  EXPECT_THROW(for_each_in_workers(
                   2, 10, [](std::size_t i) { return act(i == 0 ? "next" : "hang", {}); },
                   [](std::size_t, const WorkerPool::Event&) { throw std::domain_error("enough"); }),
               std::domain_error);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace sptc::run
