// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/base/shape.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/gpu/clock_policy.h"
#include "sim/gpu/cycle_budget.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/gpu/stall_shares.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/sampling/simulated_sms.h"
#include "sim/sm/activity.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sptc::tensor_core {
class PassageLog;
}  // namespace sptc::tensor_core

namespace sptc::gpu {

class Gpu;

struct GemmRun {
  kernels::KernelResult kernel;
  kernels::SamplingResult sampling;
  std::int64_t cycles = 0;  ///< first CTA to start to last one to end
  double clock_mhz = 0;     ///< of the SMs
  double launch_us = 0;     ///< beside the cycles: launch_overhead_us()
  ClockScaling clock_scaling;
  std::int64_t issued_macs = 0;  ///< executed multiply-accumulates of all CTAs, padding included
  std::vector<base::Matrix<numerics::Word>>
      d;  ///< per batch [m, n], accumulator words; empty without operands
  /// Bytes of the launch: counted where all SMs were simulated, else in closed form; and those of
  /// the second kernel of split-K, which is not simulated.
  kernels::MemoryTraffic traffic;
  kernels::ReductionBytes reduction;
  CycleBudget budget;
  /// Of all SMs during the launch; absent where SMs or cycles were not simulated but multiplied.
  std::optional<sm::Activity> activity;
  /// Of the cycles of all tensor cores during the launch; absent in closed form.
  std::optional<StallShares> stalls;
};

/// One elaborated GPU that runs GEMM kernels one after the other, dense and sparse on the same
/// hardware. SystemC elaborates once per process: one GemmSimulator per process.
class GemmSimulator {
 public:
  using Sms = sampling::SimulatedSms;

  struct Options {
    Sms sms = Sms::kSampled;
    bool extrapolate =
        true;  ///< multiply a detected period of main loop and CTA rounds; only without values
    std::string vcd_file;                         ///< without ".vcd"; empty: no waveform
    tensor_core::PassageLog* passages = nullptr;  ///< of the first SM; not together with `vcd_file`
    ClockPolicy clock{};
    /// Binds every SM to a memory of the caller (Gpu::Memory::kOutside), in the place of L2 and
    /// DRAM; empty: those. Needs all SMs, and no cycles are carried on. SystemC's time is that of
    /// the boost clock; traffic and what follows from it are of the closed form.
    std::function<void(Gpu& gpu)> bind_memory{};
  };

  GemmSimulator(const GpuSpec& spec, const Options& options);
  ~GemmSimulator();

  /// Of the launches from here on.
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
