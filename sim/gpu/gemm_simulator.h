// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/clock_policy.h"
#include "sim/gpu/gemm_run.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_overrides.h"

#include <tlm>

#include <functional>
#include <memory>
#include <vector>

namespace sptc::kernels {
struct GemmOperands;
}  // namespace sptc::kernels

namespace sptc::gpu {

class Gpu;
class Observer;

/// One elaborated GPU that runs GEMM kernels one after the other, dense and sparse on the same
/// hardware. One per SystemC context, which elaborates once.
class GemmSimulator {
 public:
  struct Options {
    /// Carry on main loops and rounds of CTAs once they repeat; only without values.
    bool extrapolate = true;
    std::vector<Observer*> observers{};  ///< attached before the first launch
    ClockPolicy clock{};
    /// Binds every SM to a memory of the caller (Gpu::Memory::kOutside), in the place of L2 and
    /// DRAM; empty: those. No cycles are carried on. SystemC's time is that of
    /// the boost clock; traffic and what follows from it are of the closed form.
    std::function<void(Gpu& gpu)> bind_memory{};
    /// The same of DRAM alone: binds the socket of the L2 to one of the caller's. SystemC's time is
    /// that of `elaborated_mhz`, which has to be the clock of the launches.
    std::function<void(tlm::tlm_initiator_socket<>& l2)> bind_dram{};
    double elaborated_mhz = 0;  ///< 0: boost
  };

  GemmSimulator(const GpuSpec& spec, const Options& options);
  ~GemmSimulator();

  /// Holds for the launches that follow.
  void set_clock(const ClockPolicy& clock);

  /// Simulates one launch. With `operands` (one per batch entry) their bits travel through the
  /// SystemC data path of all CTAs and D is returned; without them the same events happen and no
  /// payload moves.
  GemmRun run(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
              const std::vector<kernels::GemmOperands>* operands);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sptc::gpu
