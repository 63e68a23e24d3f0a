// SPDX-License-Identifier: Apache-2.0
//
// What the program does where its standard streams are closed, full or a terminal.
#include "tests/support/environment.h"
#include "tests/support/program_process.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace sptc::cli {
namespace {

class StreamsOfTheProgram : public support::ProgramFixture {
 protected:
  static bool catches_interrupts(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    std::string word;
    std::uint64_t caught = 0;
    while (status >> word && word != "SigCgt:") {
    }
    status >> std::hex >> caught;
    return (caught >> (SIGINT - 1) & 1) != 0;
  }

  /// The exit code; -1 where a signal ended the program.
  static int run(const std::string& arguments) {
    const int status = std::system((std::string(SPTC_PROGRAM) + " " + arguments).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(StreamsOfTheProgram, TheExitCodeIsTheSameWhereNobodyHearsTheMessage) {
  for (const char* stderr_to : {" 2>/dev/null", " 2>/dev/full", " 2>&-"}) {
    EXPECT_EQ(run(std::string("gemm 0 1 1") + stderr_to), 2) << stderr_to;
    EXPECT_EQ(run(std::string("gemm 64 64 64 --fidelity analytic >/dev/full") + stderr_to), 2) << stderr_to;
    EXPECT_EQ(run(std::string("gemm 64 64 64 --fidelity analytic >/dev/null") + stderr_to), 0) << stderr_to;
  }
}

TEST_F(StreamsOfTheProgram, HelpThatCannotBeWrittenIsAnError) {
  for (const char* arguments : {"--help", "--version", "gemm --help", "sweep plan --help"}) {
    for (const char* stdout_to : {" >/dev/full", " >&-"}) {
      EXPECT_EQ(run(arguments + std::string(stdout_to) + " 2>" + path("err")), 2) << arguments;
      EXPECT_EQ(read(path("err")), "sptcsim: error: the result cannot be written to standard output\n");
    }
  }
}

TEST_F(StreamsOfTheProgram, NoFileTakesThePlaceOfAClosedStream) {
  std::ofstream(path("spec.json")) << R"({"schema": "sptcsim-sweep/0.1", "name": "small",
      "workloads": [{"m": 64, "n": 64, "k": 64}], "arch": "a40",
      "options": {"fidelity": "analytic"}, "axes": [{"option": "dtype", "values": ["f16", "bf16"]}]})";
  const std::string sweep = "sweep " + path("spec.json") + " --jobs 1 --db ";
  ASSERT_EQ(run(sweep + path("open.sqlite") + " 2>/dev/null"), 0);
  // The summary, which nobody hears, would go to the results.
  EXPECT_EQ(run(sweep + path("closed.sqlite") + " <&- >&- 2>&-"), 0);
  EXPECT_EQ(read(path("closed.sqlite")), read(path("open.sqlite")));
}

TEST_F(StreamsOfTheProgram, ASignalEndsTheProgramThatWaitsForAReaderOfItsReport) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);  // nobody reads it: the program waits there
  const pid_t child = support::start_program(
      {"gemm", "64", "64", "64", "--check", "none", "--quiet", "--out", path("pipe")}, path("out"), path("err"));
  for (int i = 0; i < 6000 && !catches_interrupts(child); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is at the pipe then
  ::kill(child, SIGINT);
  EXPECT_EQ(support::wait_for_program(child), 130);
  EXPECT_EQ(read(path("err")), "\nsptcsim: interrupted\n");
}

TEST_F(StreamsOfTheProgram, AReportHasColourOnATerminalThatKnowsItUnlessItIsRefused) {
  // What a short report is on a terminal, whose buffer holds more than such a report.
  const auto report = [&] {
    support::PseudoTerminal terminal;
    EXPECT_EQ(
        support::wait_for_program(support::start_program(
            {"gemm", "64", "64", "64", "--fidelity", "analytic", "--check", "none"}, terminal.name(), path("err"))),
        0)
        << read(path("err"));
    return terminal.written();
  };
  struct Case {
    const char *terminal, *no_color;
    bool colour;
  };
  for (const Case& one : {Case{"xterm", nullptr, true}, Case{"xterm", "", true}, Case{"xterm", "1", false},
                          Case{"dumb", nullptr, false}, Case{nullptr, nullptr, false}}) {
    const support::Environment terminal("TERM", one.terminal), no_color("NO_COLOR", one.no_color);
    const std::string text = report();
    expect_has(text, "2:4 ");
    EXPECT_EQ(text.find('\033') != std::string::npos, one.colour) << text;
  }
}

// A title of the window, a colour, a bell, NUL, text that runs backwards, an 8-bit escape, DEL.
const std::string kHostile = R"(\u001b]0;pwn\u0007\u001b[31mX\u0000\u202egnp\u2066\u009b2J\u007f\u2028)";

TEST_F(StreamsOfTheProgram, NothingOfAFileIsObeyedByATerminal) {
  std::ofstream(path("board.json")) << R"({"base": "a100-sxm4-80gb", "name": ")" << kHostile
                                    << R"(", "sm": {"tensor_core": {"metadata_port_bytes_per_cycle": {"value": 8,
           "evidence": "assumed", "source": ")"
                                    << kHostile << R"("}}}})";
  std::ofstream(path("work.json")) << R"({"schema": "gemm-workload/0.2", "name": ")" << kHostile
                                   << R"(", "ops": [{"kind": "gemm", "name": ")" << kHostile
                                   << R"(", "m": 64, "n": 64, "k": 64}]})";
  const std::string board = path("board.json"), work = path("work.json");
  const std::string run_it = "run " + work + " --arch " + board + " --fidelity analytic";
  for (const std::string& command :
       {"arch show " + board, "arch show --format json " + board, run_it, run_it + " --verbose", run_it + " --explain",
        run_it + " --format csv", run_it + " --format json", run_it + " --html -", "import " + work,
        "import " + work + " --format csv", "compare " + work + " --arch " + board + " --quiet",
        "energy area " + board}) {
    SCOPED_TRACE(command);
    const std::string shown = path("shown");
    EXPECT_LE(run(command + " >" + shown + " 2>&1"), 2);
    const std::string text = read(shown);
    EXPECT_FALSE(text.empty());
    for (const std::string& obeyed : {std::string("\x1b"), std::string("\a"), std::string(1, '\0'), std::string("\x7f"),
                                      std::string("\xe2\x80\xae"), std::string("\xe2\x81\xa6"),
                                      std::string("\xe2\x80\xa8"), std::string("\xc2\x9b")}) {
      expect_lacks(text, obeyed);
    }
  }
}

TEST_F(StreamsOfTheProgram, ColoursOfAReportStayWhereAFileHasEscapesOfItsOwn) {
  std::ofstream(path("work.json")) << R"({"schema": "gemm-workload/0.2", "name": ")" << kHostile
                                   << R"(", "ops": [{"kind": "gemm", "name": "a\u0001b", "m": 64, "n": 64, "k": 64}]})";
  const support::Environment known("TERM", "xterm"), no_color("NO_COLOR", nullptr);
  support::PseudoTerminal terminal;
  EXPECT_EQ(support::wait_for_program(support::start_program({"run", path("work.json"), "--fidelity", "analytic"},
                                                             terminal.name(), path("err"))),
            0)
      << read(path("err"));
  std::string text = terminal.written();
  expect_has(text, "\033[1m2:4 ");
  for (const char* const ours : {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m"}) {
    for (std::size_t at = 0; (at = text.find(ours)) != std::string::npos;) {
      text.erase(at, std::string_view(ours).size());
    }
  }
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  expect_has(text, "\\x1b[31mX");
}

}  // namespace
}  // namespace sptc::cli
