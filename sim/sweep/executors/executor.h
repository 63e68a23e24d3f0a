// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/point/point_runner.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::sweep::executors {

/// Bounds of one point. A point that has any runs in a process that may be ended.
struct PointLimits {
  std::optional<double> timeout_s;         ///< wall clock
  std::optional<std::uint64_t> memory_mb;  ///< address space beyond that of the program itself

  bool any() const { return timeout_s || memory_mb; }
};

/// Something that a worker reports.
struct WorkerEvent {
  std::size_t worker = 0;
  bool lost = false;            ///< the worker died; `outcome` says nothing but the reason
  point::PointOutcome outcome;  ///< of the oldest position that the worker had not reported
};

/// Workers that simulate points: processes here, or ranks on other machines. A worker reports its
/// positions in the order in which it got them.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual std::size_t workers() const = 0;
  /// Whether worker `worker` can be given work: not once it is lost for good.
  virtual bool usable(std::size_t worker) const = 0;
  virtual void submit(std::size_t worker, std::span<const std::uint64_t> positions) = 0;
  /// Waits until something happened, at most `timeout`.
  virtual std::vector<WorkerEvent> wait(std::chrono::milliseconds timeout) = 0;
};

}  // namespace sptc::sweep::executors
