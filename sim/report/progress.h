// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace sptc::report {

/// A progress bar with the time left, on stderr. It appears only where stderr is a terminal and the
/// work takes longer than a second, and it is gone when the work is done. NO_COLOR switches its
/// colour off (no-color.org).
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();

  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of `total` steps are behind us; `next` is the one that begins.
  void update(std::size_t done, std::size_t total, const std::string& next);
  void clear();

  /// The line that is drawn, without colour.
  static std::string line(std::size_t done, std::size_t total, double elapsed_seconds,
                          const std::string& next);

 private:
  bool enabled_;
  bool color_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sptc::report
