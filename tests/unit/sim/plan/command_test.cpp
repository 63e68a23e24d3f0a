// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/command.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace sptc::plan {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWords, AreThoseThatQuotesHoldTogether) {
  EXPECT_EQ(command_words("python3  eval.py {}"), (Words{"python3", "eval.py", "{}"}));
  EXPECT_EQ(command_words(R"(a 'b c' "d e"f\ g '' \' "\"")"),
            (Words{"a", "b c", "d ef g", "", "'", "\""}));
  EXPECT_EQ(command_words(R"('\' $HOME | * ;)"), (Words{"\\", "$HOME", "|", "*", ";"}));
}

TEST(CommandWords, ThatAreNoneAreRefused) {
  support::expect_input_error([] { command_words("  \t"); }, {"the command is empty"});
  support::expect_input_error([] { command_words("a 'b"); }, {"the quote ' has no end"});
}

TEST(RunCommand, SaysWhatTheProgramLeft) {
  const CommandResult result =
      run_command({"sh", "-c", "echo first; echo \" $WHERE 2 \"; echo; echo wrong >&2; exit 3"},
                  {"WHERE", "here"}, 60);
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

TEST(RunCommand, RefusesWhatIsNoProgram) {
  support::expect_input_error(
      [] {
        run_command({"no-such-program-of-ours"}, {"X", ""}, 60);
      },
      {"'no-such-program-of-ours' cannot be started: No such file"});
}

}  // namespace
}  // namespace sptc::plan
