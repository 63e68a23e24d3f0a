// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {

/// Launches GEMMs in the way that options ask for: in closed form, or on a GPU that the first
/// launch elaborates, each at the clock that they name then. SystemC elaborates once per process,
/// so at most one such GPU per process.
class GemmLauncher {
 public:
  /// `gpu` and `options` must outlive it. `vcd_file` and `passages`: as in
  /// GemmSimulator::Options.
  GemmLauncher(const GpuSpec& gpu, const RunOptions& options, std::string vcd_file = {},
               PassageLog* passages = nullptr);

  GemmRun operator()(const GemmProblem& problem, const KernelOverrides& overrides,
                     const std::vector<GemmOperands>* operands);

 private:
  const GpuSpec& gpu_;
  const RunOptions& options_;
  std::string vcd_file_;
  PassageLog* passages_;
  std::optional<GemmSimulator> simulator_;
};

/// Figures of single GEMMs without values, one after the other on the same GPU.
class GemmTimer {
 public:
  GemmTimer(GpuSpec gpu, RunOptions options);
  GemmTimer(const GemmTimer&) = delete;
  GemmTimer& operator=(const GemmTimer&) = delete;

  /// Throws InputError where the GPU has no kernel for `op`.
  VariantResult operator()(const Operation& op, bool sparse) { return kernels_.time(op, sparse); }

 private:
  GpuSpec gpu_;
  RunOptions options_;
  GemmLauncher launcher_;
  KernelRunner kernels_;
};

}  // namespace sptc::sim
