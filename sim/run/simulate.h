// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/gpu/gpu_fwd.h"
#include "sim/run/data_source.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/run/worker_pool.h"
#include "sim/workload/workload.h"

#include <functional>
#include <stdexcept>
#include <vector>

namespace sptc::run {

class SimulationCaches;

/// The end of a simulation that SimulationHooks::cancelled asked for.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("the simulation was cancelled") {}
};

/// What a caller may do beside choosing options. Everything may be left out. The hooks run in the
/// thread of the caller, and what they throw leaves simulate().
struct SimulationHooks {
  ProgressCallback progress;
  /// Processes that simulate launches without values at once, each once; 1: this one alone.
  int jobs = 1;
  /// Asked before each launch; true ends the simulation with Cancelled.
  std::function<bool()> cancelled;
  /// Operand values of the caller, instead of those that SimulationOptions::data names.
  const DataSource* operands = nullptr;
  /// Look into the GPU, such as a gpu::Waveform or gpu::PassageLog; not in analytic.
  std::vector<gpu::Observer*> observers;
  /// What simulations have in common and need not read or sample again.
  SimulationCaches* caches = nullptr;
};

/// Simulates every operation D[m, n] = A[m, k] B[k, n] of `workload` on `architecture`: dense, with
/// pruned weights A, or both. This is what `sptcsim run` and every point of a sweep do.
///
/// Get a workload from read_workload(), or fill one: an Operation has a name, a shape (m, n, k in
/// elements), a batch, a count and an operand type. Get an architecture from load_architecture().
///
/// The result has one OperationResult for each operation, in order, and the sums over all. Times
/// are in microseconds, energies in microjoules, powers in watts, clocks in MHz, traffic in bytes;
/// times and cycles are of one launch. RunResult::notes says in sentences what a reader of the
/// figures must know. A failed check of values is no error: see RunResult::passed().
/// RunResult::assumed stays empty; assumptions() (sim/run/run.h) lists what belongs there.
///
/// Throws InputError (one clear sentence) where workload, architecture and options do not fit each
/// other, Cancelled, and InternalError for a fault of this program. It writes no message and ends
/// no process.
///
/// It may be called any number of times: `timing` and `datapath` elaborate each run in a SystemC
/// context of its own (sim/base/simulation_context.h). SystemC's state belongs to the process, so
/// calls from two threads must take turns. A Simulator (sim/run/simulator.h) has worker processes
/// instead: concurrent calls get one each or wait, and a call can be interrupted in a launch.
RunResult simulate(const workload::Workload& workload, const config::Architecture& architecture,
                   const SimulationOptions& options = {}, const SimulationHooks& hooks = {});

/// Adds to `result` what SimulationOptions::what_ifs asks for: simulate() returned it for the same
/// arguments but without them. In closed form, whatever the fidelity was.
void add_what_ifs(const workload::Workload& workload, const config::Architecture& architecture,
                  const SimulationOptions& options, RunResult& result);

/// How much longer the launches of `result` would take, as a share of their time, if each assumed
/// cost of `architecture` were twice as high: see with_twice_the_assumed_costs(). In closed form,
/// with the kernels and clocks that the launches have.
double assumed_share(const workload::Workload& workload, const config::Architecture& architecture,
                     const SimulationOptions& options, const RunResult& result);

}  // namespace sptc::run
