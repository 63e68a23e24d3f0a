// SPDX-License-Identifier: Apache-2.0
#include "sim/report/progress.h"

#include "tests/support/environment.h"
#include "tests/support/pseudo_terminal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>

namespace sptc::report {
namespace {

TEST(ProgressBar, SaysWhatIsDoneAndHowLongTheRestTakes) {
  EXPECT_EQ(ProgressBar::line({6, 24, 30.2, "", "fc1"}), "[######..................] 6/24, 30 s left: fc1");
  EXPECT_EQ(ProgressBar::line({0, 4, {}, "", "a"}), "[........................] 0/4, ? left: a");
  EXPECT_EQ(ProgressBar::line({4, 4, 0, "1 failed", ""}), "[########################] 4/4, 1 failed, 0 s left");
  EXPECT_TRUE(ProgressBar::line({1, 4, 600}).ends_with("1/4, 10 min left"));
  EXPECT_TRUE(ProgressBar::line({1, 4, 9000}).ends_with("1/4, 2.5 h left"));
}

/// What `action` writes to stderr, which is a terminal while it runs.
std::string shown(const std::function<void()>& action) {
  support::PseudoTerminal terminal;
  const int before = ::dup(STDERR_FILENO);
  ::dup2(terminal.file(), STDERR_FILENO);
  action();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  return terminal.written();
}

void wait_for_patience() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
}

TEST(ProgressBar, IsDrawnOnATerminalAfterASecondAndGoneAtItsEnd) {
  const support::Environment terminal("TERM", "xterm"), no_color("NO_COLOR", nullptr);
  const std::string text = shown([] {
    ProgressBar bar(false);
    bar.update(1, 3, "early");
    wait_for_patience();
    bar.update({2, 4, 5, "", "fc1"});
  });
  EXPECT_EQ(text, "\r\033[K\033[36m[############............] 2/4, 5 s left: fc1\033[0m\r\033[K");
}

TEST(ProgressBar, HasNoColourWhereItIsRefusedAndNoEscapesOnADumbTerminal) {
  for (const char* const type : {"xterm", "dumb"}) {
    const support::Environment terminal("TERM", type), no_color("NO_COLOR", "1");
    const std::string text = shown([] {
      ProgressBar bar(false);
      wait_for_patience();
      bar.update({2, 4, 5, "", ""});
    });
    EXPECT_EQ(text, type == std::string("dumb") ? "" : "\r\033[K[############............] 2/4, 5 s left\r\033[K");
  }
}

TEST(ProgressBar, OfAQuietRunIsNeverDrawn) {
  const support::Environment terminal("TERM", "xterm");
  const std::string text = shown([] {
    ProgressBar bar(true, ProgressBar::Elsewhere::kLines);
    wait_for_patience();
    bar.update(2, 4, "fc1");
  });
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace sptc::report
