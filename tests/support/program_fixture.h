// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace sptc::support {

/// What a run of the program left behind.
struct ProgramOutcome {
  int exit_code = -1;
  std::string out, err;
};

/// Runs the program SPTC_PROGRAM through the shell, as a user does, in a directory of its own.
class ProgramFixture : public testing::Test {
 protected:
  const TemporaryDirectory temporary;

  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string path(const std::string& name) const { return (temporary.path() / name).string(); }

  /// An architecture that is derived from no board, so that no board's energies are its own: the T4
  /// under the name "mine".
  std::string board_without_energies() const {
    std::string board = read(std::filesystem::path(SPTC_SOURCE_DIR) / "configs" / "t4.json");
    const std::string name = "\"name\": \"t4\"";
    board.replace(board.find(name), name.size(), "\"name\": \"mine\"");
    std::ofstream(path("mine.json")) << board;
    return path("mine.json");
  }

  ProgramOutcome run(const std::string& arguments) const {
    const std::string command = std::string(SPTC_PROGRAM) + " " + arguments + " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(path("out")), read(path("err"))};
  }

  void expect_output(const std::string& arguments, const std::string& part) const {
    const ProgramOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }

  /// Exit 0 and a report on stdout that lacks `part`.
  void expect_output_without(const std::string& arguments, const std::string& part) const {
    const ProgramOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out, "");
    EXPECT_EQ(outcome.out.find(part), std::string::npos) << outcome.out;
  }

  void expect_refused(const std::string& arguments, const std::string& part) const {
    const ProgramOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("sptcsim: error: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

}  // namespace sptc::support
