// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/analytic_gemm.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <utility>

namespace sptc::gpu {
namespace {

using numerics::DataType;

double time_us(const GemmRun& run) {
  return static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
}

// The forms see less of what DRAM delivers again than is counted, and would name tiles that read
// an operand many times.
TEST(AnalyticGemm, RunsNoKernelThatDramBoundsWhereAnotherOneIsFaster) {
  struct Design {
    const char* arch;
    double memory::MemorySpec::*rate;
    double times;
    base::GemmShape shape;
    bool sparse;
  };
  for (const Design& design :
       {Design{"l40s", &memory::MemorySpec::l2_bytes_per_cycle, 4, {28672, 2048, 8192}, false},
        {"t4", &memory::MemorySpec::dram_gb_per_s, 0.5, {28672, 513, 8192}, false},
        {"a40", &memory::MemorySpec::dram_gb_per_s, 0.5, {11008, 513, 4096}, false},
        {"a100-sxm4-80gb", &memory::MemorySpec::dram_gb_per_s, 0.25, {28672, 513, 8192}, true}}) {
    GpuSpec changed = config::load_architecture(design.arch).gpu;
    changed.memory.*design.rate *= design.times;
    kernels::GemmProblem problem{design.shape, 1, DataType::kF16, design.sparse};
    problem.conditions.algorithm = kernels::Algorithm::kBest;
    const double chosen = time_us(analytic_gemm(problem, {}, changed, {}));
    for (const auto& [m, n] : {std::pair{256, 128}, {128, 256}, {128, 128}, {256, 64}}) {
      kernels::KernelOverrides named;
      named.cta_tile = base::GemmShape{m, n, design.sparse ? 64 : 32};
      EXPECT_LE(chosen, time_us(analytic_gemm(problem, named, changed, {})))
          << design.arch << " with " << m << "x" << n;
    }
  }
}

}  // namespace
}  // namespace sptc::gpu
