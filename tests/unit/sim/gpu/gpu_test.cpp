// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu.h"

#include "models/mma/step_rules.h"
#include "sim/config/architecture.h"
#include "sim/gemm/gemm_traffic.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/warp_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace sptc::sim {
namespace {

/// A kernel of `problem` and all that its launch points to.
struct Grid {
  Grid(const GemmProblem& problem, const GpuSpec& spec)
      : kernel(choose_kernel(problem, {GemmShape{64, 64, 64}, 2, {}}, spec.kernel_target(), true)),
        context(kernel.instruction, mma::step_rules("ampere", kernel.instruction)),
        map(kernel.instruction),
        program(gemm_warp_program(kernel, kernel.k_tiles())),
        traffic(kernel) {}

  KernelLaunch launch() const {
    return {&program, &context, &map, kernel.warps(), 2, kernel.ctas(), nullptr, &traffic};
  }

  GemmKernel kernel;
  mma::StepContext context;
  mma::RegisterMap map;
  WarpProgram program;
  GemmTraffic traffic;
};

GpuSpec three_sms() {
  GpuSpec spec = load_architecture("a100-sxm4-80gb").gpu;
  spec.sms = 3;
  return spec;
}

TEST(CtaScheduler, RunsEveryCtaOnceAndNeverMoreThanFitAtATime) {
  const GpuSpec spec = three_sms();
  const Clock clock(spec.boost_clock_mhz);
  Gpu gpu("gpu", clock, spec, spec.sms);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const Grid grid({{640, 320, 128}, 1, numerics::DataType::kF16, false}, spec);
  const GridRun run = gpu.run(grid.launch());
  std::set<std::int64_t> seen;
  for (const auto& records : run.ctas) {
    EXPECT_GE(records.size(), 16U);  // 50 CTAs over three equal SMs
    for (const CtaRecord& record : records) {
      EXPECT_TRUE(seen.insert(record.cta).second);
      EXPECT_LT(record.start_cycle, record.end_cycle);
      EXPECT_LE(record.end_cycle, run.cycles);
      const auto at_once = std::count_if(records.begin(), records.end(), [&](const CtaRecord& r) {
        return r.start_cycle <= record.start_cycle && record.start_cycle < r.end_cycle;
      });
      EXPECT_LE(at_once, 2);
    }
  }
  EXPECT_EQ(seen.size(), 50U);
}

TEST(Gpu, ExecutesExactlyTheMacsThatTheKernelCounts) {
  const GpuSpec spec = three_sms();
  const Clock clock(spec.boost_clock_mhz);
  Gpu gpu("gpu", clock, spec, spec.sms);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::int64_t expected = 0;
  for (const bool sparse : {false, true}) {
    for (const auto& shape : {GemmShape{1, 1, 4}, {63, 65, 132}, {200, 100, 300}}) {
      const Grid grid({shape, 2, numerics::DataType::kF16, sparse}, spec);
      gpu.run(grid.launch());
      expected += grid.kernel.issued_macs();
      std::int64_t executed = 0;
      std::int64_t completed = 0, issued = 0;
      for (const auto& sm : gpu.sms()) {
        for (const auto& partition : sm->sub_partitions) {
          executed += partition->tensor_core.multiply.statistics().macs;
          completed += partition->tensor_core.round_write_back.statistics().instructions;
          issued += partition->statistics().mma_issued;
          EXPECT_EQ(partition->resident_warps(), 0);
        }
      }
      EXPECT_EQ(executed, expected);
      EXPECT_EQ(completed, issued);
    }
  }
}

TEST(Gpu, GridsOneAfterTheOtherTakeWhatEachTakesAlone) {
  const GpuSpec spec = three_sms();
  const Clock clock(spec.boost_clock_mhz);
  Gpu gpu("gpu", clock, spec, 1);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const Grid dense({{500, 500, 500}, 1, numerics::DataType::kF16, false}, spec);
  const Grid sparse({{300, 700, 516}, 1, numerics::DataType::kF16, true}, spec);
  const std::int64_t first = gpu.run(dense.launch()).cycles;
  const std::int64_t second = gpu.run(sparse.launch()).cycles;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gpu.run(dense.launch()).cycles, first);
    EXPECT_EQ(gpu.run(dense.launch()).cycles, first);
    EXPECT_EQ(gpu.run(sparse.launch()).cycles, second);
  }
}

}  // namespace
}  // namespace sptc::sim
