// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/execution/coordinator.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sptc::sweep::execution {

/// Who works at a file of results, and how far that is.
struct RunMark {
  std::string host;
  std::int64_t pid = 0;
  std::string since;  ///< "2026-01-31T12:00:00Z"
  SweepShard shard;
  std::uint64_t total = 0;  ///< points of the shard
  std::uint64_t done = 0;   ///< of them, failures and those done before included
  double seconds_left = 0;
};

/// Keeps a RunMark in the small file RESULTS.run while a sweep writes RESULTS, for whoever asks how
/// far it is. A mark that cannot be written is left out; a link of that name is not followed.
class RunMarker {
 public:
  RunMarker(const std::filesystem::path& results, const SweepShard& shard);
  ~RunMarker();

  RunMarker(const RunMarker&) = delete;
  RunMarker& operator=(const RunMarker&) = delete;

  /// Writes at most every two seconds.
  void update(const SweepProgress& progress);

 private:
  std::filesystem::path results_, file_;
  RunMark mark_;
  std::chrono::steady_clock::time_point written_;
};

/// The mark of `results`; nothing where there is none that can be read. The process that wrote it
/// may have ended since: is_being_written() knows.
std::optional<RunMark> read_run_mark(const std::filesystem::path& results);

/// Whether a sweep writes to the file `results` now, on any machine whose file locks reach it.
bool is_being_written(const std::filesystem::path& results);

}  // namespace sptc::sweep::execution
