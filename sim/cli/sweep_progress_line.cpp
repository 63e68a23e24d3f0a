// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_progress_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace sptc::sim {

SweepProgressLine::SweepProgressLine(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

SweepProgressLine::~SweepProgressLine() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

void SweepProgressLine::update(const SweepProgress& progress) {
  constexpr double kSecondsBetweenLines = 30;
  if (quiet_) {
    return;
  }
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", progress_line(progress));
    std::fflush(stderr);
    drawn_ = true;
  } else if (progress.seconds >= next_line_) {
    next_line_ = progress.seconds + kSecondsBetweenLines;
    if (progress.seconds >= kSecondsBetweenLines) {
      fmt::print(stderr, "{}\n", progress_line(progress));
    }
  }
}

}  // namespace sptc::sim
