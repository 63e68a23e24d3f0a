// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/run/worker_pool.h"
#include "sim/workload/workload_text.h"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sptc::run {

/// The arguments of simulate() as text, which travels to another process and means the same there.
struct SimulationRequest {
  workload::WorkloadText workload;
  config::ArchitectureText architecture;
  std::map<std::string, std::string> options;  ///< by the names of simulation_options()
  bool what_ifs = true;                        ///< as in SimulationOptions
  bool explained = false;                      ///< as in RunResult
};

/// Simulates again and again, for any number of threads: each call gets a worker process of its own
/// (WorkerPool), which serves many calls one after the other. Where all are busy, it waits for one.
/// A call that throws, is interrupted or whose worker is killed leaves the Simulator usable.
class Simulator {
 public:
  /// What simulate() is to return of a result; called in the worker.
  using Report = std::function<std::string(RunResult result, const workload::Workload& workload,
                                           const config::Architecture& architecture, const SimulationOptions& options)>;

  /// Starts at most `workers` processes, each when a call first needs it.
  Simulator(std::size_t workers, Report report);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  /// Needs every call to have ended.
  ~Simulator() = default;

  /// What the Report says of run::simulate(). The working directory and SPTCSIM_CONFIG_DIR are
  /// those of this moment. `progress` (may be empty) is that of SimulationHooks; `poll` (may be
  /// empty) is called ten times a second, also while the call waits for a worker, and what it
  /// throws ends the simulation. Throws what simulate() throws, and InternalError where the worker
  /// was lost.
  std::string simulate(const SimulationRequest& request, const ProgressCallback& progress,
                       const std::function<void()>& poll);

 private:
  std::unique_ptr<WorkerPool> take(const std::function<void()>& poll);
  void give_back(std::unique_ptr<WorkerPool> worker);

  const std::size_t most_;
  const WorkerPool::Handler handler_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<WorkerPool>> idle_;  ///< pools of one
  std::size_t busy_ = 0;
  pid_t owner_;  ///< a copy of the process has none of the calls of the original
};

}  // namespace sptc::run
