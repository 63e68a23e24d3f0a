// SPDX-License-Identifier: Apache-2.0
//
// The simulation: every GEMM of a workload on a SystemC model of the GPU, with values where they
// are asked for. Link sptcsim::simulate. Types, units and errors are those of
// <sptcsim/estimate.h>.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <sptcsim/estimate.h>
#include <string>

namespace sptcsim {

/// What simulate() tells while it runs. Everything may be left out. The hooks run in the thread of
/// the caller, and what they throw ends the simulation and leaves simulate().
struct Hooks {
  /// Called before each GEMM and once at the end: GEMMs done, of how many, the name of the next.
  std::function<void(std::size_t done, std::size_t total, const std::string& next)> progress;
  /// Called ten times a second, also while the call waits for a worker. What it throws ends the
  /// simulation.
  std::function<void()> poll;
};

/// Simulates again and again: dense, with sparse weights, or both, as `sptcsim run` does.
///
/// Each call runs in a worker process, a child of this one (fork), and a worker serves any number
/// of calls. Threads may share a Simulator: concurrent calls get a worker each, and wait where all
/// are busy. A worker is started when a call first needs it and ends with the Simulator. A call
/// that throws, or whose worker is killed, leaves the Simulator usable.
class Simulator {
 public:
  /// At most `workers` processes; 0: one per processor.
  explicit Simulator(int workers = 0);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  /// Every GEMM of `workload` on `architecture`. `options` are those of `sptcsim run`. A failed
  /// check of values is no error: see Launch::mismatches.
  ///
  /// Throws InputError for bad input and InternalError where the worker ended in another way.
  Result simulate(const Workload& workload, const Architecture& architecture, const Options& options = {},
                  const Hooks& hooks = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same on a Simulator that the whole process shares.
Result simulate(const Workload& workload, const Architecture& architecture, const Options& options = {},
                const Hooks& hooks = {});

}  // namespace sptcsim
