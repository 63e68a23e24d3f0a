// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/executor.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace sptc::sweep {

/// Worker processes on this machine, forked before the sweep grows in memory. They die with their
/// parent, however it ends, and are replaced when they die alone.
class LocalExecutor : public Executor {
 public:
  LocalExecutor(const SweepPlan& plan, PointRunner& runner, const PointLimits& limits,
                std::size_t workers);
  /// Ends the workers, busy or not.
  ~LocalExecutor() override;

  LocalExecutor(const LocalExecutor&) = delete;
  LocalExecutor& operator=(const LocalExecutor&) = delete;

  std::size_t workers() const override { return processes_.size(); }
  bool usable(std::size_t /*worker*/) const override { return true; }
  void submit(std::size_t worker, std::span<const std::uint64_t> positions) override;
  std::vector<WorkerEvent> wait(std::chrono::milliseconds timeout) override;
  void finish() override;

 private:
  struct Process {
    pid_t id = -1;
    int requests = -1;  ///< pipe to the worker: positions
    int outcomes = -1;  ///< pipe from it
    std::string received;
  };

  void start(Process& process);
  void serve(int requests, int outcomes);
  /// Closes the pipes, ends the process and says how it ended.
  std::string end(Process& process);

  const SweepPlan& plan_;
  PointRunner& runner_;
  PointLimits limits_;
  std::vector<Process> processes_;
};

}  // namespace sptc::sweep
