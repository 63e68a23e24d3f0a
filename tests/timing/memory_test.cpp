// SPDX-License-Identifier: Apache-2.0
// Copies from global memory: waiting for them, another memory behind the sockets, bytes of dense
// and sparse, and what the bandwidth of the L2 bounds.
#include "sim/gemm/gemm_traffic.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/warp_program.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu.h"
#include "tests/timing/fixed_latency_memory.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <memory>

namespace sptc::sim {
namespace {

using numerics::DataType;

constexpr const char* kA100 = "a100-sxm4-80gb";

/// A GEMM kernel and all that a launch of it points to.
struct Grid {
  Grid(const GemmProblem& problem, const GemmShape& tile, const GpuSpec& spec, int stages = 4)
      : kernel(choose_kernel(problem, {tile, stages, {}}, spec.kernel_target(), true)),
        parts(kernel.instruction),
        program(gemm_warp_program(kernel, kernel.k_tiles())),
        traffic(kernel) {}

  KernelLaunch launch() const {
    KernelLaunch launch = parts.launch(program, nullptr, kernel.warps(), kernel.ctas(), 1);
    launch.traffic = &traffic;
    return launch;
  }

  GemmKernel kernel;
  KernelParts parts;
  WarpProgram program;
  GemmTraffic traffic;
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
  GpuSpec spec = load_architecture(kA100).gpu;
  spec.sms = 1;
  const Clock clock(spec.boost_clock_mhz);
  Gpu near("near", clock, spec, 1, Gpu::Memory::kOutside);
  Gpu far("far", clock, spec, 1, Gpu::Memory::kOutside);
  FixedLatencyMemory near_memory("near_memory", clock, 100);
  FixedLatencyMemory far_memory("far_memory", clock, 101);
  near.sms().front()->async_copy.memory.bind(near_memory.socket);
  far.sms().front()->async_copy.memory.bind(far_memory.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  // One k-tile: nothing hides the latency. Its copies and its stores each wait for it once.
  const Grid grid({{64, 64, 32}, 1, DataType::kF16, false}, {64, 64, 32}, spec);
  const std::int64_t short_wait = near.run(grid.launch()).cycles;
  const std::int64_t long_wait = far.run(grid.launch()).cycles;
  EXPECT_EQ(long_wait - short_wait, 2);
  EXPECT_GT(near_memory.requests.size(), 2 * static_cast<std::size_t>(grid.kernel.warps()));
  EXPECT_EQ(near_memory.requests.size(), far_memory.requests.size());
  EXPECT_FALSE(near_memory.overlapped);
}

TEST(SparseTraffic, CompressedAWithMetadataIsNineSixteenthsOfDenseAEverywhere) {
  GpuSpec spec = load_architecture(kA100).gpu;
  spec.sms = 4;
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
