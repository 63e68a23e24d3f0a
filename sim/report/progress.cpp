// SPDX-License-Identifier: Apache-2.0
#include "sim/report/progress.h"

#include "models/base/text.h"
#include "sim/report/message.h"

#include <fmt/format.h>

#include <cmath>
#include <unistd.h>

namespace sptc::report {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr double kPatienceSeconds = 1;
constexpr double kSecondsBetweenLines = 30;

std::string time_left(const std::optional<double>& seconds) {
  if (!seconds) {
    return "?";
  }
  const long long whole = std::llround(*seconds);
  return whole < 120    ? fmt::format("{} s", whole)
         : whole < 7200 ? fmt::format("{} min", whole / 60)
                        : fmt::format("{:.1f} h", static_cast<double>(whole) / 3600);
}

}  // namespace

ProgressBar::ProgressBar(bool quiet, Elsewhere elsewhere)
    : terminal_(is_terminal(STDERR_FILENO)), color_(has_color(STDERR_FILENO)), next_line_(kSecondsBetweenLines) {
  enabled_ = !quiet && (terminal_ || elsewhere == Elsewhere::kLines);
}

ProgressBar::~ProgressBar() {
  clear();
}

std::string ProgressBar::line(const Progress& now) {
  const std::size_t filled = now.total == 0 ? kBarWidth : kBarWidth * now.done / now.total;
  return fmt::format("[{}{}] {}/{}{}{}, {} left{}{}", std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
                     now.done, now.total, now.detail.empty() ? "" : ", ", now.detail, time_left(now.seconds_left),
                     now.next.empty() ? "" : ": ", now.next.substr(0, 32));
}

double ProgressBar::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressBar::update(const Progress& now) {
  if (!enabled_) {
    return;
  }
  const double elapsed = elapsed_seconds();
  if (terminal_ && elapsed >= kPatienceSeconds) {
    write_to_terminal(
        fmt::format("\r\033[K{}{}{}", color_ ? "\033[36m" : "", base::escaped(line(now)), color_ ? "\033[0m" : ""));
    drawn_ = true;
  } else if (!terminal_ && elapsed >= next_line_) {
    write_message(line(now) + "\n");
    next_line_ = elapsed + kSecondsBetweenLines;
  }
}

void ProgressBar::update(std::size_t done, std::size_t total, const std::string& next) {
  Progress now{done, total, {}, {}, next};
  if (done > 0) {
    now.seconds_left = elapsed_seconds() / static_cast<double>(done) * static_cast<double>(total - done);
  }
  update(now);
}

void ProgressBar::clear() {
  if (drawn_) {
    write_to_terminal("\r\033[K");
    drawn_ = false;
  }
}

}  // namespace sptc::report
