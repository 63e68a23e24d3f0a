// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/analytic_gemm.h"

#include "sim/config/architecture.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <utility>

namespace sptc::gpu {
namespace {

using numerics::DataType;

double time_us(const GemmRun& run) {
  return static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
}

GemmRun dense(const base::GemmShape& shape, const GpuSpec& gpu,
              const kernels::KernelOverrides& overrides) {
  return analytic_gemm({shape, 1, DataType::kF16, false}, overrides, gpu, {});
}

class AnalyticGemm : public testing::Test {
 protected:
  GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
};

// The forms see less of what DRAM delivers again than is counted, and would name tiles that read
// an operand many times.
TEST_F(AnalyticGemm, RunsNoKernelThatDramBoundsWhereAnotherOneIsFaster) {
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
        {"a40", &memory::MemorySpec::dram_gb_per_s, 0.5, {11008, 513, 4096}, true},
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

TEST_F(AnalyticGemm, SplitKPaysWhereTilesAreFewAndCostsASecondLaunch) {
  const base::GemmShape deep{256, 256, 65536};
  const kernels::KernelOverrides whole{base::GemmShape{128, 128, 32}, {}, 1};
  const kernels::KernelOverrides cut{base::GemmShape{128, 128, 32}, {}, 16};
  const GemmRun one = dense(deep, gpu, whole);
  const GemmRun sixteen = dense(deep, gpu, cut);
  EXPECT_EQ(sixteen.kernel.split_k, 16);
  EXPECT_EQ(sixteen.kernel.ctas, 16 * one.kernel.ctas);
  EXPECT_LT(time_us(sixteen), 0.5 * time_us(one));
  EXPECT_GT(sixteen.launch_us, one.launch_us);
  EXPECT_EQ(sixteen.issued_macs, one.issued_macs);
}

TEST_F(AnalyticGemm, RefusesWhatTheHardwareDoesNotHave) {
  gpu.sm.tensor_core.selector_inputs = 2;
  support::expect_input_error(
      [&] {
        analytic_gemm({{64, 64, 64}, 1, DataType::kF16, true}, {}, gpu, {});
      },
      {"selector"});
}

}  // namespace
}  // namespace sptc::gpu
