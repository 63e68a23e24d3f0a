// SPDX-License-Identifier: Apache-2.0
// Copies from global memory: waiting for them, another memory behind the sockets, bytes of dense
// and sparse, and what the bandwidth of the L2 bounds.
#include "sim/gpu/gemm_simulator.h"
#include "sim/sm/copy_groups.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/sm_before_memory.h"

#include <gtest/gtest.h>

namespace sptc::sim {
namespace {

using numerics::DataType;

constexpr const char* kA100 = "a100-sxm4-80gb";

/// A dense or sparse kernel with four stages.
struct Grid : GemmGrid {
  Grid(const GemmProblem& problem, const GemmShape& tile, const GpuSpec& spec)
      : GemmGrid(problem, {tile, 4, {}}, spec, true) {}

  KernelLaunch launch() const { return GemmGrid::launch(kernel.ctas()); }
};

TEST(CopyGroups, CountAsCompleteInOrder) {
  CopyGroups groups;
  const int first = groups.start();
  groups.commit();
  const int second = groups.start();
  groups.commit();
  EXPECT_FALSE(groups.at_most(1));
  groups.arrived(second);
  EXPECT_FALSE(groups.at_most(1));  // the first one is still under way
  groups.arrived(first);
  EXPECT_TRUE(groups.at_most(0));
  EXPECT_TRUE(groups.idle());
}

TEST(AsyncCopy, AnotherMemoryCanBeBoundAndItsLatencyIsWaitedForToTheCycle) {
  const GpuSpec spec = gpu_with_sms(kA100, 1);
  SmBeforeMemory near("near", spec, 100);
  SmBeforeMemory far("far", spec, 101);
  // One k-tile: nothing hides the latency. Its copies and its stores each wait for it once.
  const Grid grid({{64, 64, 32}, 1, DataType::kF16, false}, {64, 64, 32}, spec);
  const std::int64_t short_wait = near.run(grid.launch());
  const std::int64_t long_wait = far.run(grid.launch());
  EXPECT_EQ(long_wait - short_wait, 2);
  EXPECT_GT(near.requests().size(), 2 * static_cast<std::size_t>(grid.kernel.warps()));
  EXPECT_EQ(near.requests().size(), far.requests().size());
  EXPECT_FALSE(near.overlapped());
}

TEST(SparseTraffic, CompressedAWithMetadataIsNineSixteenthsOfDenseAEverywhere) {
  const GpuSpec spec = gpu_with_sms(kA100, 4);
  GemmSimulator simulator(spec, {GemmSimulator::Sms::kAll, false, ""});
  const GemmShape shape{256, 128, 1024};
  const KernelOverrides tile{GemmShape{64, 64, 64}, 3, {}};
  struct Bytes {
    std::int64_t shared, l2, dram;
  };
  const auto bytes_of_a = [&](bool sparse) {
    const GemmProblem problem{shape, 1, DataType::kF16, sparse};
    const GemmRun run = simulator.run(problem, tile, nullptr);
    const GemmKernel kernel = choose_kernel(problem, tile, spec.kernel_target(), true);
    // Dense B: every row of CTAs reads it from the L2, DRAM delivers it once.
    const std::int64_t b = shape.n * shape.k * 2;
    WarpProgram program = gemm_warp_program(kernel, kernel.k_tiles());
    for (auto* code : {&program.prologue, &program.loop}) {
      std::erase_if(*code, [](const WarpInstruction& i) { return i.operand == Operand::kB; });
    }
    return Bytes{fragment_bytes(kernel, program), run.traffic.l2_read - kernel.tiles_m() * b,
                 run.traffic.dram_read - b};
  };
  const Bytes dense = bytes_of_a(false);
  const Bytes sparse = bytes_of_a(true);
  EXPECT_EQ(dense.dram, shape.m * shape.k * 2);
  EXPECT_EQ(16 * sparse.dram, 9 * dense.dram);
  EXPECT_EQ(16 * sparse.l2, 9 * dense.l2);
  EXPECT_EQ(16 * sparse.shared, 9 * dense.shared);
}

TEST(MemoryShare, HalfTheL2SlowsAGemmThatItBoundsAndNotOneThatTheTensorCoresBound) {
  const GpuSpec spec = load_architecture(kA100).gpu;
  GpuSpec narrow = spec;
  narrow.memory.l2_bytes_per_cycle /= 2;
  const Clock clock(spec.boost_clock_mhz);
  Gpu whole("whole", clock, spec, 1);
  Gpu half("half", clock, narrow, 1);
  ShareOfCta share;
  share.active_sms = spec.sms;
  share.operands.fill({0.05, 0, 0});
  for (Gpu* gpu : {&whole, &half}) {
    gpu->set_share([&](std::size_t, std::int64_t) -> const ShareOfCta& { return share; });
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const auto slowdown = [&](const GemmShape& tile) {
    const GemmProblem problem{{tile.m, tile.n, 4096}, 1, DataType::kF16, false};
    const Grid grid(problem, tile, spec);
    const auto before = static_cast<double>(whole.run(grid.launch()).cycles);
    return static_cast<double>(half.run(grid.launch()).cycles) / before;
  };
  EXPECT_GT(slowdown({64, 64, 32}), 1.6);
  // 256 x 128: 689 of 1024 cycles of a k-tile at the whole L2.
  EXPECT_LT(slowdown({256, 128, 32}), 1.45);
}

}  // namespace
}  // namespace sptc::sim
