// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/execution/run_mark.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::sweep::execution {

/// One file of a sweep's results.
struct PartStatus {
  std::filesystem::path file;
  std::size_t done = 0, failed = 0;  ///< rows
  bool running = false;              ///< a sweep writes to it now
  std::optional<RunMark> run;        ///< the sweep that writes, or that ended without its end
};

/// How far a sweep is over all of its parts.
struct SweepStatus {
  std::string name, version;
  std::optional<std::uint64_t> points;  ///< planned; files of older programs do not say
  std::size_t done = 0, failed = 0;     ///< points, each counted once, whatever parts it is in
  std::vector<PartStatus> parts;

  /// Planned points without a row; none where nobody knows how many were planned.
  std::optional<std::size_t> missing() const;
  /// "done": every point has a result; "failed": or a reason; "running": points are missing and a
  /// part is being written; "stopped": and none is. "unknown": none is, and the files do not say
  /// how many points were planned.
  std::string state() const;
};

/// The status of the sweep in `files`; one that does not exist stands for its shards, FILE.1,
/// FILE.2, ... Throws InputError where there are none, or for files of different sweeps.
SweepStatus sweep_status(std::span<const std::filesystem::path> files);

/// For a reader, and as JSON of the schema sptcsim-sweep-status/0.1.
std::string status_text(const SweepStatus& status);
std::string status_json(const SweepStatus& status);

}  // namespace sptc::sweep::execution
