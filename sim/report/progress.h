// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace sptc::report {

struct Progress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::optional<double> seconds_left = {};
  std::string detail = {};  ///< of what is done: "1 failed"
  std::string next = {};    ///< name of the step that begins
};

/// A progress bar with the time left, on stderr. On a terminal it appears where the work takes longer than a second,
/// and is gone when the work is done.
class ProgressBar {
 public:
  /// Where stderr is no terminal, or one without escape sequences.
  enum class Elsewhere {
    kSilent,
    kLines,  ///< a line every half minute
  };
  explicit ProgressBar(bool quiet, Elsewhere elsewhere = Elsewhere::kSilent);
  ~ProgressBar();

  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const Progress& now);
  /// `done` of `total` steps of like length are behind us; `next` is the one that begins.
  void update(std::size_t done, std::size_t total, const std::string& next);
  void clear();

  /// "[###...] 12/40, 1 failed, 9 s left: fc1"
  static std::string line(const Progress& now);

 private:
  double elapsed_seconds() const;

  bool enabled_;
  bool terminal_;
  bool color_;
  bool drawn_ = false;
  double next_line_;  ///< seconds after the start
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sptc::report
