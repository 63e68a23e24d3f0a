// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu.h"

#include "tests/support/gemm_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace sptc::gpu {
namespace {

/// A kernel of which two CTAs share an SM.
struct Grid : support::GemmGrid {
  Grid(const kernels::GemmProblem& problem, const GpuSpec& spec)
      : support::GemmGrid(problem, {base::GemmShape{64, 64, 64}, 2, {}}, spec, true) {}

  sm::KernelLaunch launch() const { return support::GemmGrid::launch(kernel.ctas(), 2); }
};

struct ThreeSms {
  ThreeSms() : gpu("gpu", clock, spec) { sc_core::sc_start(sc_core::SC_ZERO_TIME); }

  const GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", 3);
  const base::Clock clock{spec.boost_clock_mhz};
  Gpu gpu;
};

TEST(CtaScheduler, RunsEveryCtaOnceAndNeverMoreThanFitAtATime) {
  ThreeSms three;
  Gpu& gpu = three.gpu;
  const Grid grid({{640, 320, 128}, 1, numerics::DataType::kF16, false}, three.spec);
  const GridRun run = gpu.run(grid.launch());
  std::set<std::int64_t> seen;
  for (const auto& records : run.ctas) {
    EXPECT_GE(records.size(), 16U);  // 50 CTAs over three equal SMs
    for (const sm::CtaRecord& record : records) {
      EXPECT_TRUE(seen.insert(record.cta).second);
      EXPECT_LT(record.start_cycle, record.end_cycle);
      EXPECT_LE(record.end_cycle, run.cycles);
      const auto at_once = std::count_if(records.begin(), records.end(), [&](const sm::CtaRecord& r) {
        return r.start_cycle <= record.start_cycle && record.start_cycle < r.end_cycle;
      });
      EXPECT_LE(at_once, 2);
    }
  }
  EXPECT_EQ(seen.size(), 50U);
}

// Nine CTAs of which two share an SM: who has room first must not take two of the last three.
TEST(CtaScheduler, GivesNoSmMoreThanItsShareRoundedUp) {
  ThreeSms three;
  for (const std::int64_t k : {64, 128, 256, 512, 1024, 2048}) {
    const Grid grid({{192, 192, k}, 1, numerics::DataType::kF16, false}, three.spec);
    for (const auto& records : three.gpu.run(grid.launch()).ctas) {
      EXPECT_EQ(records.size(), 3U) << k;
    }
  }
}

TEST(Gpu, ExecutesExactlyTheMacsThatTheKernelCounts) {
  ThreeSms three;
  Gpu& gpu = three.gpu;
  std::int64_t expected = 0;
  for (const bool sparse : {false, true}) {
    for (const auto& shape : {base::GemmShape{1, 1, 4}, {63, 65, 132}, {200, 100, 300}}) {
      const Grid grid({shape, 2, numerics::DataType::kF16, sparse}, three.spec);
      gpu.run(grid.launch());
      expected += grid.kernel.issued_macs();
      std::int64_t executed = 0;
      for (const auto& sm : gpu.sms()) {
        for (const auto& partition : sm->sub_partitions) {
          executed += partition->tensor_core.multiply.activity().executed_macs;
          EXPECT_EQ(partition->resident_warps(), 0);
        }
      }
      EXPECT_EQ(executed, expected);
    }
  }
}

TEST(Gpu, GridsOneAfterTheOtherTakeWhatEachTakesAlone) {
  ThreeSms three;
  Gpu& gpu = three.gpu;
  const Grid dense({{500, 500, 500}, 1, numerics::DataType::kF16, false}, three.spec);
  const Grid sparse({{300, 700, 516}, 1, numerics::DataType::kF16, true}, three.spec);
  const std::int64_t first = gpu.run(dense.launch()).cycles;
  const std::int64_t second = gpu.run(sparse.launch()).cycles;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gpu.run(dense.launch()).cycles, first);
    EXPECT_EQ(gpu.run(dense.launch()).cycles, first);
    EXPECT_EQ(gpu.run(sparse.launch()).cycles, second);
  }
}

}  // namespace
}  // namespace sptc::gpu
