// SPDX-License-Identifier: Apache-2.0
//
// Every command of traces/TUTORIAL.md runs, and prints the lines that stand below it.
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// A command, without the name of the program, and lines of its output.
struct Example {
  std::string arguments;
  std::vector<std::string> printed;
};

std::vector<Example> examples() {
  const std::string indent = "    ";
  const std::string command = indent + "sptcsim ";
  std::vector<Example> result;
  std::ifstream page(fs::path(SPTC_SOURCE_DIR) / "traces/TUTORIAL.md");
  bool below = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(command)) {
      result.push_back({line.substr(command.size()), {}});
      below = true;
    } else if (below && line.starts_with(indent)) {
      result.back().printed.push_back(line.substr(indent.size()));
    } else {
      below = false;
    }
  }
  return result;
}

TEST(Tutorial, CommandsRunAndPrintWhatStandsBelowThem) {
  const sptc::support::TemporaryDirectory directory;
  fs::create_directory_symlink(fs::path(SPTC_SOURCE_DIR) / "traces", directory.path() / "traces");
  const std::vector<Example> all = examples();
  EXPECT_GE(all.size(), 10U);
  std::size_t lines = 0;
  for (const Example& example : all) {
    const std::string out = (directory.path() / "out").string();
    const std::string command = "cd " + directory.path().string() + " && " + SPTC_PROGRAM + " " +
                                example.arguments + " >out 2>err";
    ASSERT_EQ(std::system(command.c_str()), 0) << example.arguments;
    std::ifstream stream(out);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (const std::string& line : example.printed) {
      ++lines;
      EXPECT_NE(text.find(line), std::string::npos) << example.arguments << "\n" << line;
    }
  }
  EXPECT_GE(lines, 4U);
}

}  // namespace
