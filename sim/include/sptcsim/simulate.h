// SPDX-License-Identifier: Apache-2.0
//
// The simulation: every GEMM of a workload on a SystemC model of the GPU, with values where they
// are asked for. Link sptcsim::simulate. Types, units and errors are those of
// <sptcsim/estimate.h>.
#pragma once

#include <cstddef>
#include <functional>
#include <sptcsim/estimate.h>
#include <string>

namespace sptcsim {

/// What simulate() tells while it runs. Everything may be left out. The hooks run in the thread of
/// the caller, and what they throw ends the simulation and leaves simulate().
struct Hooks {
  /// Called before each GEMM and once at the end: GEMMs done, of how many, the name of the next.
  std::function<void(std::size_t done, std::size_t total, const std::string& next)> progress;
  /// Called ten times a second. What it throws ends the simulation.
  std::function<void()> poll;
};

/// Every GEMM of `workload` on `architecture`: dense, with sparse weights, or both. This is what
/// `sptcsim run` does; `options` are its options.
///
/// SystemC elaborates once per process, so each call simulates in a child of this process (fork)
/// and may be repeated any number of times. Calls from several threads wait for each other. A
/// failed check of values is no error: see Launch::mismatches.
///
/// Throws InputError for bad input and InternalError where the child ended in another way.
Result simulate(const Workload& workload, const Architecture& architecture,
                const Options& options = {}, const Hooks& hooks = {});

}  // namespace sptcsim
