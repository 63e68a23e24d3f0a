// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sptc::support {

/// Whether the build found a Chromium: pages are tested in it, and the tests are skipped elsewhere.
#ifdef SPTC_CHROMIUM
inline constexpr bool kHasBrowser = true;
#else
#define SPTC_CHROMIUM ""
inline constexpr bool kHasBrowser = false;
#endif

/// What headless Chromium leaves of a page.
struct BrowserOutcome {
  std::string dom;       ///< when its scripts have run
  std::string messages;  ///< of its console: errors of scripts, and loads that failed
};

/// Opens `page` (with a fragment "#..", where one is wanted) in headless Chromium, whose profile
/// and output go to `directory`.
inline BrowserOutcome open_in_browser(const std::string& page, const std::filesystem::path& directory) {
  const std::string profile = (directory / "profile").string();
  const std::string dom = (directory / "dom").string(), log = (directory / "log").string();
  const std::string command = std::string(SPTC_CHROMIUM) +
                              " --headless --no-sandbox --disable-gpu --enable-logging=stderr "
                              "--virtual-time-budget=4000 --dump-dom --user-data-dir=" +
                              profile + " 'file://" + page + "' >" + dom + " 2>" + log;
  if (std::system(command.c_str()) != 0) {
    return {"", "the browser failed"};
  }
  const auto read = [](const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  BrowserOutcome outcome;
  outcome.dom = read(dom);
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != std::string::npos) {
      outcome.messages += line + "\n";
    }
  }
  return outcome;
}

}  // namespace sptc::support
