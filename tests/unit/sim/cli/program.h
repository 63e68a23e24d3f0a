// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/browser.h"
#include "tests/support/json_schema.h"
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
  /// Makes the file `name` of `text`, and says its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// Files beside the program's own streams.
  std::size_t files() const {
    const std::filesystem::directory_iterator entries(temporary.path());
    return static_cast<std::size_t>(std::count_if(begin(entries), end(entries), [](auto& entry) {
      return entry.path().filename() != "out" && entry.path().filename() != "err";
    }));
  }
  /// That of configs/schema.
  static support::JsonSchema schema(const std::string& name) {
    return support::JsonSchema(nlohmann::json::parse(read(SPTC_SOURCE_DIR "/configs/schema/" + name + ".schema.json")));
  }
  /// What a browser makes of `page`, whose scripts have nothing to complain of.
  std::string opened(const std::string& page) const {
    const support::BrowserOutcome seen = support::open_in_browser(page, temporary.path());
    EXPECT_EQ(seen.messages, "");
    expect_has(seen.dom, "data-ready=\"yes\"");
    return seen.dom;
  }
};

/// The program as a user meets it.
class Program : public JsonProgram {
 protected:
  /// In one line.
  void expect_refused(const std::string& arguments, const std::string& part) const {
    JsonProgram::expect_refused(arguments, part);
    const std::string err = read(path("err"));
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  }
};

}  // namespace sptc::cli
