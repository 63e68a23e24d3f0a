// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/stages.h"
#include "sim/base/clock.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/microbench/memory_bench.h"
#include "sim/run/microbench/microbench_case.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::run::microbench {

/// What a microbenchmark measures, as Sun et al. (arXiv 2206.02874) do.
struct MicrobenchResult {
  std::string instruction;
  bool sparse = false;
  bool selectors_in_turn = false;  ///< of the chains of a warp
  int warps = 0;
  int ilp = 0;
  /// Cycles in which every chain of every warp advances by one instruction; with one warp and one
  /// chain the completion latency, but of wgmma and tcgen05.mma that are not waited for.
  double latency_cycles = 0;
  /// Multiply-accumulates per cycle and SM, skipped zeros counted; absent for loads.
  std::optional<double> fma_per_clk_per_sm;
  /// Bytes loaded into registers or shared memory per cycle and SM; absent for matrix instructions.
  std::optional<double> bytes_per_clk_per_sm;
  std::string_view warning = {};  ///< see mma::speed_warning()
};

/// One SM, elaborated, on which microbenchmarks run one after the other, and the memory of the
/// whole GPU beside it. SystemC elaborates once per process: one Microbench per process.
class Microbench {
 public:
  explicit Microbench(const gpu::GpuSpec& spec);

  /// Simulates the instructions and measures the steady state. Throws InputError for an instruction
  /// that the architecture lacks or that is not modelled, for more warps than an SM or a CTA holds,
  /// and for more chains than the registers of a thread.
  MicrobenchResult run(const MicrobenchCase& which);

  MemoryBench& memory() { return memory_; }

 private:
  void require_possible(const MicrobenchCase& which) const;
  std::int64_t cycles(const MicrobenchCase& which, const mma::StepContext& context, std::int64_t iterations);

  gpu::GpuSpec spec_;
  base::Clock clock_;
  gpu::Gpu gpu_;
  MemoryBench memory_;
};

inline constexpr std::int64_t kMaxWarps = 32;  ///< of a CTA: 1024 threads
inline constexpr std::int64_t kMaxIlp = 255;

/// The published rows of the instruction called `name` (empty: of all), or it alone where none is
/// published or `warps` or `ilp` say how it runs. Throws InputError.
std::vector<MicrobenchCase> asked_cases(const gpu::GpuSpec& spec, const std::string& name, std::optional<int> warps,
                                        std::optional<int> ilp);

/// Simulates them on one SM: once per process.
std::vector<MicrobenchResult> run_cases(const gpu::GpuSpec& spec, const std::vector<MicrobenchCase>& cases);

std::string rows_text(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows);
std::string rows_csv(const std::vector<MicrobenchResult>& rows);
/// One JSON object (configs/schema/microbench.schema.json).
std::string rows_json(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows, std::string_view version);

}  // namespace sptc::run::microbench
