// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace sptc::cli {

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}
inline void expect_lacks(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text << "\nhas: " << part;
}

class JsonProgram : public support::ProgramFixture {
 protected:
  /// What a run that succeeds prints.
  nlohmann::json json_of(const std::string& arguments) const {
    const support::ProgramOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << ": " << outcome.err;
    return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
  }
};

/// Looks at what the program leaves behind.
class Program : public JsonProgram {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  /// Those beside the program's own streams.
  std::size_t files() const {
    const std::filesystem::directory_iterator entries(temporary.path());
    return static_cast<std::size_t>(std::count_if(begin(entries), end(entries), [](auto& entry) {
      return entry.path().filename() != "out" && entry.path().filename() != "err";
    }));
  }
  /// In one line.
  void expect_refused(const std::string& arguments, const std::string& part) const {
    JsonProgram::expect_refused(arguments, part);
    const std::string err = read(path("err"));
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  }
};

}  // namespace sptc::cli
