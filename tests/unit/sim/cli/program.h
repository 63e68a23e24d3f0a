// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/program_process.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sptc::cli {

/// What a run of the program left behind.
struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

/// Runs the program without a shell, in a directory of its own.
class Program : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path() / "work";

  void SetUp() override { std::filesystem::create_directories(directory); }

  std::string path(const std::string& name) const { return (directory / name).string(); }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory / name, std::ios::binary) << text;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory), {}));
  }

  static pid_t start(const std::vector<std::string>& arguments, const std::string& out,
                     const std::string& err) {
    return support::start_program(arguments, out, err);
  }
  static int wait(pid_t child) { return support::wait_for_program(child); }

  Outcome run(const std::vector<std::string>& arguments) const {
    const std::string out = directory.string() + ".out";
    const std::string err = directory.string() + ".err";
    Outcome outcome;
    outcome.exit_code = wait(start(arguments, out, err));
    outcome.out = read(out);
    outcome.err = read(err);
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return outcome;
  }

  /// Exit 2, nothing on stdout, one line on stderr that holds `part`.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("sptcsim: error: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "lacks: " << part;
  }
};

}  // namespace sptc::cli
