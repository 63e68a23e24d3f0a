// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/executors/executor.h"

#include <chrono>
#include <functional>

namespace sptc::sweep::executors {

/// What rank 0 does with the other ranks as workers; returns an exit code.
using MpiRoot = std::function<int(Executor& ranks)>;

/// Runs a sweep on the ranks that mpirun started: `root` on rank 0, the others simulate the points
/// that it hands out, those of SystemC in a child process. All ranks must have the same
/// program, spec, workloads and architectures. A rank that is silent for `silence`
/// loses the point that it had, and the sweep goes on without it, if MPI lets it (Open MPI: mpirun
/// --enable-recovery). Returns the exit code of this rank, or ends it and the whole job. mpirun
/// ends with the code of rank 0, and under --enable-recovery with 1 in place of every code but 0.
/// Throws InputError where this build has no MPI, or there is one rank.
int run_with_mpi(const space::SweepPlan& plan, point::PointRunner& runner,
                 const PointLimits& limits, std::chrono::seconds silence, const MpiRoot& root);

}  // namespace sptc::sweep::executors
