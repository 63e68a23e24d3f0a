// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_progress_line.h"

#include "sim/report/message.h"

#include <unistd.h>

namespace sptc::cli {

SweepProgressLine::SweepProgressLine(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

SweepProgressLine::~SweepProgressLine() {
  if (drawn_) {
    report::write_message("\r\033[K");
  }
}

void SweepProgressLine::update(const sweep::SweepProgress& progress) {
  constexpr double kSecondsBetweenLines = 30;
  if (quiet_) {
    return;
  }
  if (terminal_) {
    report::write_message("\r\033[K" + sweep::progress_line(progress));
    drawn_ = true;
  } else if (progress.seconds >= next_line_) {
    next_line_ = progress.seconds + kSecondsBetweenLines;
    if (progress.seconds >= kSecondsBetweenLines) {
      report::write_message(sweep::progress_line(progress) + "\n");
    }
  }
}

}  // namespace sptc::cli
