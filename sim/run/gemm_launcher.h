// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/simulation_context.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/known_launches.h"
#include "sim/run/memory_plugin.h"
#include "sim/run/run_options.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run {

/// Launches GEMMs in the way that options ask for: in closed form, or on a GPU that the first
/// launch elaborates in a SystemC context of its own, each at the clock that they name then.
/// Several may live at once; their launches must take turns. What the process knows already
/// (known_launches()) is not simulated again.
class GemmLauncher {
 public:
  /// `gpu` and `options` must outlive it. `waveform` and `passages`: as in
  /// GemmSimulator::Options. Throws InputError where the memory of `options` is no plugin.
  GemmLauncher(const gpu::GpuSpec& gpu, const RunOptions& options,
               tensor_core::Waveform* waveform = nullptr,
               tensor_core::PassageLog* passages = nullptr);
  GemmLauncher(const GemmLauncher&) = delete;
  GemmLauncher& operator=(const GemmLauncher&) = delete;
  ~GemmLauncher();

  gpu::GemmRun operator()(const kernels::GemmProblem& problem,
                          const kernels::KernelOverrides& overrides,
                          const std::vector<kernels::GemmOperands>* operands);

  /// Simulates `launches`, which have no values, in up to `jobs` processes at once, so that they are
  /// known when they are asked for. One that fails is left to that. `done` hears how many have
  /// ended; what it throws ends them all.
  void simulate_ahead(const std::vector<AskedLaunch>& launches, int jobs,
                      const std::function<void(std::size_t)>& done);

  /// What the memory of `options` calls itself; empty: the modelled one.
  std::string dram() const { return memory_ ? memory_->description() : ""; }

 private:
  gpu::GemmRun simulate(const kernels::GemmProblem& problem,
                        const kernels::KernelOverrides& overrides,
                        const std::vector<kernels::GemmOperands>* operands);
  /// Of this GPU; each at the clock that `launch` has.
  KnownLaunches& known();
  AskedLaunch at_its_clock(AskedLaunch launch) const;
  /// Makes the simulator, before a DRAM of its own if `options` name one.
  void elaborate(double mhz);
  void take_down();

  const gpu::GpuSpec& gpu_;
  const RunOptions& options_;
  Launcher closed_form_;
  std::optional<LoadedMemory> memory_;
  tensor_core::Waveform* waveform_;
  tensor_core::PassageLog* passages_;
  std::optional<base::SimulationContext> context_;  ///< of the simulator, which goes first
  std::optional<LoadedMemory::Dram> dram_;
  std::optional<gpu::GemmSimulator> simulator_;
  double mhz_ = 0;                        ///< at which it was elaborated
  std::shared_ptr<KnownLaunches> known_;  ///< from the first launch on that may be one of them
};

/// Figures of single GEMMs without values, one after the other on the same GPU.
class GemmTimer {
 public:
  GemmTimer(gpu::GpuSpec gpu, RunOptions options);
  GemmTimer(const GemmTimer&) = delete;
  GemmTimer& operator=(const GemmTimer&) = delete;

  /// Throws InputError where the GPU has no kernel for `op`.
  VariantResult operator()(const workload::Operation& op, bool sparse) {
    return kernels_.time(op, sparse);
  }

 private:
  gpu::GpuSpec gpu_;
  RunOptions options_;
  GemmLauncher launcher_;
  KernelRunner kernels_;
};

}  // namespace sptc::run
