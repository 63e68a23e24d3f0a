// SPDX-License-Identifier: Apache-2.0
#include "sim/report/progress.h"

#include "sim/report/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace sptc::report {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr double kPatienceSeconds = 1;

}  // namespace

ProgressBar::ProgressBar(bool quiet)
    : enabled_(!quiet && isatty(STDERR_FILENO) != 0), color_(enabled_) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') {
    color_ = false;
  }
}

ProgressBar::~ProgressBar() {
  clear();
}

std::string ProgressBar::line(std::size_t done, std::size_t total, double elapsed_seconds,
                              const std::string& next) {
  const std::size_t filled = total == 0 ? kBarWidth : kBarWidth * done / total;
  std::string left = "?";
  if (done > 0) {
    const double seconds =
        elapsed_seconds / static_cast<double>(done) * static_cast<double>(total - done);
    left = fmt::format("{:.0f} s", seconds);
  }
  return fmt::format("[{}{}] {}/{}, {} left: {}", std::string(filled, '#'),
                     std::string(kBarWidth - filled, '.'), done, total, left, next.substr(0, 32));
}

void ProgressBar::update(std::size_t done, std::size_t total, const std::string& next) {
  if (!enabled_) {
    return;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  if (elapsed.count() < kPatienceSeconds) {
    return;
  }
  const std::string text = line(done, total, elapsed.count(), next);
  write_message(
      fmt::format("\r\033[K{}{}{}", color_ ? "\033[36m" : "", text, color_ ? "\033[0m" : ""));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) {
    write_message("\r\033[K");
    drawn_ = false;
  }
}

}  // namespace sptc::report
