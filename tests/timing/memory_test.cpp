// SPDX-License-Identifier: Apache-2.0
// Copies from global memory: waiting for them, another memory behind the sockets, bytes of dense
// and sparse, and what the bandwidth of the L2 bounds.
#include "sim/gpu/gemm_simulator.h"
#include "sim/hardware/sm/async_groups.h"
#include "tests/support/fragment_bytes.h"
#include "tests/support/gemm_grid.h"
#include "tests/support/in_child.h"
#include "tests/timing/sms_before_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

constexpr const char* kA100 = "a100-sxm4-80gb";

/// A dense or sparse kernel with four stages.
struct Grid : support::GemmGrid {
  Grid(const kernels::GemmProblem& problem, const base::GemmShape& tile, const gpu::GpuSpec& spec)
      : support::GemmGrid(problem, {tile, 4, {}}, spec, true) {}

  sm::KernelLaunch launch() const { return support::GemmGrid::launch(kernel.ctas()); }
};

TEST(AsyncGroups, CountAsCompleteInOrder) {
  sm::AsyncGroups groups;
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
  const gpu::GpuSpec spec = support::gpu_with_sms(kA100, 1);
  SmsBeforeMemory near("near", spec, 100);
  SmsBeforeMemory far("far", spec, 101);
  // One k-tile: nothing hides the latency. Its copies and its stores each wait for it once.
  const Grid grid({{64, 64, 32}, 1, DataType::kF16, false}, {64, 64, 32}, spec);
  const std::int64_t short_wait = near.run(grid.launch());
  const std::int64_t long_wait = far.run(grid.launch());
  EXPECT_EQ(long_wait - short_wait, 2);
  EXPECT_GT(near.memory.requests.size(), 2 * static_cast<std::size_t>(grid.kernel.warps()));
  EXPECT_EQ(near.memory.requests.size(), far.memory.requests.size());
  EXPECT_EQ(near.memory.against_protocol, 0);
}

// END_REQ comes three cycles behind a request, the response of an older one often in between.
TEST(AsyncCopy, AnOlderResponseDoesNotEndTheRequestThatIsOpen) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kA100, 1);
  SmsBeforeMemory sm("sm", spec, 9);
  const Grid grid({{64, 64, 512}, 1, DataType::kF16, false}, {64, 64, 32}, spec);
  sm.run(grid.launch());
  EXPECT_EQ(sm.memory.against_protocol, 0);
}

TEST(AsyncCopy, KeepsTheBaseProtocolHoweverAMemoryAnswers) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kA100, 2);
  using enum ProtocolMemory::Answer;
  std::vector<std::unique_ptr<SmsBeforeMemory>> all;
  for (const auto answer : {kEndOfRequestLater, kResponseLater, kEndOfRequest, kResponse, kCompleted}) {
    all.push_back(std::make_unique<SmsBeforeMemory>("way" + std::to_string(all.size()), spec, 40, answer));
  }
  // Eight CTAs.
  const Grid grid({{128, 256, 256}, 1, DataType::kF16, false}, {64, 64, 32}, spec);
  for (const auto& way : all) {
    SCOPED_TRACE(way->memory.name());
    way->run(grid.launch());
    EXPECT_EQ(way->memory.against_protocol, 0);
    EXPECT_TRUE(way->memory.at_rest());
    EXPECT_EQ(way->memory.transactions, all.front()->memory.transactions);
    EXPECT_EQ(way->memory.read_bytes, 8 * (64 + 64) * 256 * 2);
    EXPECT_EQ(way->memory.written_bytes, 128 * 256 * 2);
  }
}

// Loads that pass the L1: it knows a line by the address that was asked for.
TEST(AsyncCopy, AMemoryMayRewriteTheAddress) {
  const gpu::GpuSpec spec = support::gpu_with_sms("v100-sxm2-16gb", 1);
  SmsBeforeMemory plain("plain", spec, 40);
  SmsBeforeMemory offset("offset", spec, 40);
  offset.memory.added_to_address = 1U << 30;
  const support::GemmGrid grid({{64, 256, 256}, 1, DataType::kF16, false}, {base::GemmShape{64, 64, 32}, 2, {}}, spec,
                               false);
  plain.run(grid.launch(grid.kernel.ctas()));
  offset.run(grid.launch(grid.kernel.ctas()));
  EXPECT_LT(plain.memory.read_bytes, 4 * (64 + 64) * 256 * 2);  // A comes from the L1, too
  EXPECT_EQ(offset.memory.transactions, plain.memory.transactions);
}

TEST(SparseTraffic, CompressedAWithMetadataIsNineSixteenthsOfDenseAEverywhere) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kA100, 4);
  gpu::GemmSimulator simulator(spec, {false});
  const base::GemmShape shape{256, 128, 1024};
  const kernels::KernelOverrides tile{base::GemmShape{64, 64, 64}, 3, {}};
  struct Bytes {
    std::int64_t shared, l2, dram;
  };
  const auto bytes_of_a = [&](bool sparse) {
    const kernels::GemmProblem problem{shape, 1, DataType::kF16, sparse};
    const gpu::GemmRun run = simulator.run(problem, tile, nullptr);
    const kernels::GemmKernel kernel = kernels::choose_kernel(problem, tile, spec.kernel_target(), true);
    // Dense B: every row of CTAs reads it from the L2, DRAM delivers it once.
    const std::int64_t b = shape.n * shape.k * 2;
    isa::WarpProgram program = kernels::gemm_warp_program(kernel, kernel.k_tiles());
    for (auto* code : {&program.prologue, &program.loop}) {
      std::erase_if(*code, [](const isa::WarpInstruction& i) { return i.operand == isa::Operand::kB; });
    }
    return Bytes{support::fragment_bytes(kernel, program), run.traffic.l2_and_dram.l2_read - kernel.tiles_m() * b,
                 run.traffic.l2_and_dram.dram_read - b};
  };
  const Bytes dense = bytes_of_a(false);
  const Bytes sparse = bytes_of_a(true);
  EXPECT_EQ(dense.dram, shape.m * shape.k * 2);
  EXPECT_EQ(16 * sparse.dram, 9 * dense.dram);
  EXPECT_EQ(16 * sparse.l2, 9 * dense.l2);
  EXPECT_EQ(16 * sparse.shared, 9 * dense.shared);
}

TEST(Memory, ASlowerL2SlowsAGemmThatItBoundsAndNotOneThatTheTensorCoresBound) {
  const gpu::GpuSpec spec = config::load_architecture(kA100).gpu;
  gpu::GpuSpec narrow = spec;
  narrow.memory.l2_bytes_per_cycle *= 0.75;
  // A tile for each SM. 256 x 128: 689 of 1024 cycles of a k-tile at the whole L2.
  const auto cycles = [](const gpu::GpuSpec& gpu) {
    return support::in_child<double>(2, [&] {
      gpu::GemmSimulator simulator(gpu, {false});
      std::vector<double> result;
      for (const base::GemmShape& tile : {base::GemmShape{64, 64, 32}, {256, 128, 32}}) {
        const kernels::GemmProblem problem{{12 * tile.m, 9 * tile.n, 4096}, 1, DataType::kF16, false};
        const gpu::GemmRun run = simulator.run(problem, {tile, {}, 1}, nullptr);
        result.push_back(static_cast<double>(run.cycles));
      }
      return result;
    });
  };
  const std::vector<double> whole = cycles(spec), slower = cycles(narrow);
  EXPECT_GT(slower[0] / whole[0], 1.25);
  EXPECT_LT(slower[1] / whole[1], 1.15);
}

}  // namespace
}  // namespace sptc::timing
