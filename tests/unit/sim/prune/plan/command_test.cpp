// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/command.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sptc::prune::plan {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWords, AreThoseThatQuotesHoldTogether) {
  EXPECT_EQ(command_words("python3  eval.py {}"), (Words{"python3", "eval.py", "{}"}));
  EXPECT_EQ(command_words(R"(a 'b c' "d e"f\ g '' \' "\"")"), (Words{"a", "b c", "d ef g", "", "'", "\""}));
  EXPECT_EQ(command_words(R"('\' $HOME | * ;)"), (Words{"\\", "$HOME", "|", "*", ";"}));
}

TEST(CommandWords, ThatAreNoneAreRefused) {
  support::expect_input_error([] { command_words("  \t"); }, {"the command is empty"});
  support::expect_input_error([] { command_words("a 'b"); }, {"the quote ' has no end"});
}

TEST(RunCommand, SaysWhatTheProgramLeft) {
  const CommandResult result =
      run_command({"sh", "-c", "echo first; echo \" $WHERE 2 \"; echo; echo wrong >&2; exit 3"}, {"WHERE", "here"}, 60);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.last_line, "here 2");
  EXPECT_EQ(result.last_error, "wrong");
}

TEST(RunCommand, NoticesSignalsAndItsTime) {
  const CommandResult killed = run_command({"sh", "-c", "kill -TERM $$"}, {"X", ""}, 60);
  EXPECT_EQ(killed.exit_code, -1);
  EXPECT_EQ(killed.signal, SIGTERM);
  const auto start = std::chrono::steady_clock::now();
  // A child that holds the stream open ends, too.
  const CommandResult late = run_command({"sh", "-c", "sleep 300 & sleep 300"}, {"X", ""}, 0.2);
  EXPECT_EQ(late.exit_code, -1);
  EXPECT_EQ(late.signal, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(100));
}

TEST(RunCommand, EndsWithItsProgramWhateverHoldsTheStream) {
  const CommandResult result = run_command({"sh", "-c", "sleep 300 & seq 9999; echo 0.5"}, {"X", ""}, 60);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.last_line, "0.5");
}

TEST(RunCommand, ReadsAllOfAStreamThatIsLongerThanAPipe) {
  const CommandResult result = run_command({"sh", "-c", "seq 100000 & seq 200000 >&2; wait"}, {"X", ""}, 60);
  EXPECT_EQ(result.last_line, "100000");
  EXPECT_EQ(result.last_error, "200000");
}

/// True when all writers of `file` have ended within a minute.
bool is_left_by_writers(int file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    pollfd ready{file, POLLIN, 0};
    char byte = 0;
    if (::poll(&ready, 1, 1000) == 1 && ::read(file, &byte, 1) == 0) {
      return true;
    }
  }
  return false;
}

TEST(RunCommand, WhatItStartedEndsWithTheCaller) {
  const support::TemporaryDirectory directory;
  const std::string fifo = (directory.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t caller = ::fork();
  if (caller == 0) {
    run_command({"sh", "-c", "(echo; sleep 200; true) > " + fifo + "; true"}, {"X", ""}, 300);
    ::_exit(0);
  }
  const int file = ::open(fifo.c_str(), O_RDONLY);
  char byte = 0;
  ASSERT_EQ(::read(file, &byte, 1), 1);  // the subshell runs
  ::kill(caller, SIGKILL);
  ::waitpid(caller, nullptr, 0);
  EXPECT_TRUE(is_left_by_writers(file));
  ::close(file);
}

TEST(RunCommand, ProgramsDoNotIgnoreSignals) {
  constexpr int kNumbers[] = {SIGINT, SIGPIPE, SIGXFSZ};
  for (const int number : kNumbers) {
    ::signal(number, SIG_IGN);
  }
  const CommandResult result = run_command({"grep", "SigIgn", "/proc/self/status"}, {"X", ""}, 60);
  for (const int number : kNumbers) {
    ::signal(number, SIG_DFL);
  }
  ASSERT_EQ(result.last_line.rfind("SigIgn:\t", 0), 0U) << result.last_line;
  const std::uint64_t ignored = std::stoull(result.last_line.substr(8), nullptr, 16);
  for (const int number : kNumbers) {
    EXPECT_EQ(ignored >> (number - 1) & 1, 0U) << number;
  }
}

TEST(RunCommand, RefusesWhatIsNoProgram) {
  support::expect_input_error(
      [] {
        run_command({"no-such-program-of-ours"}, {"X", ""}, 60);
      },
      {"'no-such-program-of-ours' cannot be started: No such file"});
}

}  // namespace
}  // namespace sptc::prune::plan
