// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/simulation_context.h"
#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/gpu/timer.h"
#include "sim/include/sptcsim/plugin/memory.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/run/simulation_options.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {

/// A GEMM, and what is asked of its kernel.
using AskedLaunch = std::pair<kernels::GemmProblem, kernels::KernelOverrides>;

/// Launches that SystemC has simulated on one GPU, by what was asked for, whose conditions name the
/// clock.
using KnownLaunches = std::map<AskedLaunch, gpu::LaunchFigures>;

/// Launches that this process has simulated on `gpu`, whose cycles may be carried on where it says
/// `extrapolate`: no launch is simulated twice. The GPUs that were asked for last are kept.
std::shared_ptr<KnownLaunches> known_launches(const gpu::GpuSpec& gpu, bool extrapolate);

/// A shared object with a DRAM (sim/include/sptcsim/plugin/memory.h). It stays loaded until the
/// process ends.
class LoadedMemory {
 public:
  /// Throws InputError where `file` is not a plugin for this program.
  explicit LoadedMemory(const std::string& file);

  /// Its own name for itself.
  std::string description() const;

  using Dram = std::unique_ptr<sptcsim::Dram, void (*)(sptcsim::Dram*)>;
  /// A DRAM in the SystemC context that is current; `gb_per_s` and `sm_clock_mhz`: as in
  /// MemorySettings. Throws InputError with what the plugin says against `config`.
  Dram make(const std::string& config, double gb_per_s, double sm_clock_mhz) const;

 private:
  std::string file_;
  const sptcsim::MemoryPlugin* plugin_ = nullptr;
};

/// Times launches on a GPU that the first one elaborates in a SystemC context of its own, each at
/// the clock that options name then. Several may live at once; their launches must take turns. What
/// the process knows already (known_launches()) is not simulated again.
class SystemCTimer : public gpu::Timer {
 public:
  /// All must outlive it. `observers`: as in GemmSimulator::Options. Throws InputError where the
  /// memory of `options` is no plugin.
  SystemCTimer(const gpu::GpuSpec& gpu, const SimulationOptions& options, std::vector<gpu::Observer*> observers = {});
  ~SystemCTimer() override;

  /// Simulates `launches`, which have no values, in up to `jobs` processes at once, so that they
  /// are known when they are asked for. One that fails is left to that. `done` hears how many have
  /// ended; what it throws ends them all.
  void simulate_ahead(const std::vector<AskedLaunch>& launches, int jobs, const std::function<void(std::size_t)>& done);

  /// What the memory of `options` calls itself; empty: the modelled one.
  std::string dram() const { return memory_ ? memory_->description() : ""; }

 private:
  gpu::GemmRun launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                      const std::vector<kernels::GemmOperands>* operands) override;
  gpu::GemmRun simulate(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                        const std::vector<kernels::GemmOperands>* operands);
  /// Launches of this GPU; each at the clock that `launch` has.
  KnownLaunches& known();
  AskedLaunch at_its_clock(AskedLaunch launch) const;
  /// Makes the simulator, before a DRAM of its own if `options` name one.
  void elaborate(double mhz);
  void take_down();

  const gpu::GpuSpec& gpu_;
  const SimulationOptions& options_;
  std::optional<LoadedMemory> memory_;
  std::vector<gpu::Observer*> observers_;
  std::optional<base::SimulationContext> context_;  ///< of the simulator, which goes first
  std::optional<LoadedMemory::Dram> dram_;
  std::optional<gpu::GemmSimulator> simulator_;
  double mhz_ = 0;                        ///< at which it was elaborated
  std::shared_ptr<KnownLaunches> known_;  ///< from the first launch on that may be one of them
};

/// The timer that `options` ask for by their fidelity. Both arguments must outlive it.
std::unique_ptr<gpu::Timer> make_timer(const gpu::GpuSpec& gpu, const SimulationOptions& options);

}  // namespace sptc::run
