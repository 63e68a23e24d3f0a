// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/coordinator.h"

#include <chrono>

namespace sptc::sweep {

/// Who works at a file of results, and how far that is.
struct RunMark {
  std::string host;
  std::int64_t pid = 0;
  std::string since;         ///< "2026-01-31T12:00:00Z"
  std::string shard;         ///< "I/N"
  std::uint64_t points = 0;  ///< of the shard
  std::uint64_t done = 0;    ///< of them, failures and those done before included
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

/// Nothing where none can be read. Its process may have ended since: is_being_written() knows.
std::optional<RunMark> read_run_mark(const std::filesystem::path& results);

/// Whether a sweep writes to the file `results` now, on any machine whose file locks reach it.
bool is_being_written(const std::filesystem::path& results);

struct PartStatus {
  std::filesystem::path file;
  std::size_t done = 0, failed = 0;  ///< rows
  bool running = false;              ///< a sweep writes to it now
  std::optional<RunMark> run;        ///< the sweep that writes, or that ended without its end
};

struct SweepStatus {
  std::string name, version;
  std::optional<std::uint64_t> points;  ///< planned; nothing before a part says it
  std::size_t done = 0, failed = 0;     ///< points, each counted once, whatever parts it is in
  std::vector<PartStatus> parts;

  /// Planned points without a row; none where nobody knows how many were planned.
  std::optional<std::size_t> missing() const;
  /// "done": every point has a result; "failed": or a reason; "running": points are missing and a
  /// part is being written; "stopped": and none is.
  std::string state() const;
};

/// The status of the sweep in `files`; one that does not exist stands for its shards, FILE.1,
/// FILE.2, ... Throws InputError where there are none, or for files of different sweeps.
SweepStatus sweep_status(std::span<const std::filesystem::path> files);

/// The status for a reader, and as JSON of the schema sptcsim-sweep-status/0.1.
std::string status_text(const SweepStatus& status);
std::string status_json(const SweepStatus& status);

}  // namespace sptc::sweep
