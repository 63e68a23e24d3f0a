// SPDX-License-Identifier: Apache-2.0
// How tiles come to shared memory without cp.async (through registers) and with TMA (by a producer
// warp), to the cycle. References: CUTLASS, mma_pipelined.h and
// sm90_gemm_tma_warpspecialized_cooperative.hpp.
#include "sim/kernels/work_schedule.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/sm_harness.h"
#include "tests/timing/sms_before_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

// --- through registers
// ---------------------------------------------------------------------------------------------

/// 512 bytes for every load.
class LineTraffic : public sm::CtaTraffic {
 public:
  sm::MemoryRange range(std::int64_t, int, const isa::WarpInstruction&, std::int64_t) const override {
    return {0, 512};
  }
};

/// A warp loads four registers, stores them with bank conflicts, and multiplies what it reads
/// behind a barrier.
class StagedLoad {
 public:
  explicit StagedLoad(int conflict_ways, bool stores = true) : parts_(instruction(DataType::kF16, 16)) {
    const isa::RegisterRange staged{kHarnessRegisters - 4, 4};
    isa::WarpInstruction load;
    load.opcode = isa::Opcode::kLoadGlobal;
    load.d = staged;
    isa::WarpInstruction store;
    store.opcode = isa::Opcode::kStoreShared;
    store.a = staged;
    store.conflict_ways = static_cast<std::uint8_t>(conflict_ways);
    std::vector<isa::WarpInstruction> code{load};
    if (stores) {
      code.push_back(store);
    }
    code.push_back(barrier());
    code.push_back(load_into(Registers(parts_.map).a()));
    code.push_back(mma_into(parts_, 0));
    program_ = program_of(code);
  }

  sm::KernelLaunch launch() const {
    sm::KernelLaunch launch = parts_.launch(program_);
    launch.traffic = &traffic_;
    return launch;
  }

 private:
  KernelParts parts_;
  isa::WarpProgram program_;
  LineTraffic traffic_;
};

TEST(StagedLoad, HoldsItsStoreAndTheMmaBehindTheBarrierUntilTheCycleInWhichItArrives) {
  SmsBeforeMemory near("near", one_sub_partition(), 100);
  SmsBeforeMemory far("far", one_sub_partition(), 101);
  near.watch_mma();
  far.watch_mma();
  const StagedLoad staged(1);
  near.run(staged.launch());
  far.run(staged.launch());
  EXPECT_EQ(far.mma_cycles.at(0) - near.mma_cycles.at(0), 1);
  // Without the store nothing needs the registers, and the mma is far ahead of the data.
  const StagedLoad unused(1, false);
  near.run(unused.launch());
  const std::int64_t free = near.mma_cycles.at(0);
  far.run(unused.launch());
  EXPECT_EQ(far.mma_cycles.at(0), free);
  EXPECT_LT(free, 60);
}

TEST(StagedLoad, IsStoredInTheWavefrontsThatBankConflictsMakeOfItBeforeTheNextReadIsServed) {
  SmsBeforeMemory sm("sm", one_sub_partition(), 100);
  sm.watch_mma();
  const auto mma_at = [&](int ways) {
    const StagedLoad staged(ways);
    sm.run(staged.launch());
    return sm.mma_cycles.at(0);
  };
  // Four wavefronts of two cycles each way. The barrier hides the first four cycles and the way of
  // the load one, so that of one way three cycles show.
  EXPECT_EQ(mma_at(2) - mma_at(1), 8);
  EXPECT_EQ(mma_at(3) - mma_at(2), 8);
}

/// A grid of one CTA of a GEMM kernel.
struct OneCta : support::GemmGrid {
  OneCta(const gpu::GpuSpec& spec, const base::GemmShape& shape, const base::GemmShape& tile)
      : support::GemmGrid({shape, 1, DataType::kF16, false}, {tile, {}, {}}, spec, false) {}

  sm::KernelLaunch launch(std::int64_t ctas = 1) const { return support::GemmGrid::launch(ctas); }
};

/// Cycles of six k-tiles of 128 x 128 x 32 on `name` when the memory takes `latency` cycles, and
/// one more.
struct OneCycleMore {
  OneCycleMore(const char* name, int latency)
      : spec(support::gpu_with_sms(name, 1)),
        near(std::string(name) + "_near", spec, latency),
        far(std::string(name) + "_far", spec, latency + 1) {}

  std::int64_t added() {
    const OneCta grid(spec, {128, 128, 192}, {128, 128, 32});
    const std::int64_t near_cycles = near.run(grid.launch());
    return far.run(grid.launch()) - near_cycles;
  }

  gpu::GpuSpec spec;
  SmsBeforeMemory near, far;
};

TEST(StagedKernel, WaitsForEveryTileWhereTheMemoryIsSlowerThanTheMultiplication) {
  OneCycleMore v100("v100-sxm2-16gb", 5000);
  OneCycleMore t4("t4", 5000);
  // Six loads, one behind the other, and the last store of D.
  EXPECT_EQ(v100.added(), 6 + 1);
  EXPECT_EQ(t4.added(), 6 + 1);
}

TEST(StagedKernel, MultipliesATileWhileTheNextOneIsOnItsWayToTheRegisters) {
  OneCycleMore v100("v100-sxm2-16gb", 300);
  OneCycleMore t4("t4", 300);
  // Only the first tile and the last store are waited for.
  EXPECT_EQ(v100.added(), 2);
  EXPECT_EQ(t4.added(), 2);
}

// --- the L1 that such loads pass

/// Loads of one register of a line, one behind the other, then a matrix instruction on the last.
class LoadChain {
 public:
  explicit LoadChain(const std::vector<int>& lines) : parts_(instruction(DataType::kF16, 16)) {
    std::vector<isa::WarpInstruction> code;
    for (const int line : lines) {
      isa::WarpInstruction load;
      load.opcode = isa::Opcode::kLoadGlobal;
      load.d = {Registers(parts_.map).a().base, 1};
      load.where.row = line;
      code.push_back(load);
    }
    code.push_back(mma_into(parts_, 0));
    program_ = program_of(code);
  }

  /// `shared_memory`: of the SM, beside the L1.
  sm::KernelLaunch launch(base::Bytes shared_memory = {}) const {
    sm::KernelLaunch launch = parts_.launch(program_);
    launch.traffic = &traffic_;
    launch.shared_memory = shared_memory;
    return launch;
  }

 private:
  class Lines : public sm::CtaTraffic {
   public:
    sm::MemoryRange range(std::int64_t, int, const isa::WarpInstruction& load, std::int64_t) const override {
      return {static_cast<std::uint64_t>(128 * load.where.row), 128};
    }
  };

  KernelParts parts_;
  isa::WarpProgram program_;
  Lines traffic_;
};

TEST(L1, AnswersALineThatItHoldsAfterItsLatencyAndAsksTheMemoryForOthers) {
  const gpu::GpuSpec spec = one_sub_partition();
  SmsBeforeMemory sm("sm", spec, 400);
  sm.watch_mma();
  const auto mma_at = [&](const std::vector<int>& lines) {
    sm.run(LoadChain(lines).launch());
    return sm.mma_cycles.at(0);
  };
  const std::int64_t once = mma_at({0});
  EXPECT_EQ(sm.memory.requests.size(), 1U);
  // Each further load of the line: blocked for the latency, 33 cycles, and not one more.
  EXPECT_EQ(mma_at({0, 0}) - once, spec.sm.l1_latency_cycles);
  EXPECT_EQ(mma_at({0, 0, 0}) - once, 2 * spec.sm.l1_latency_cycles);
  EXPECT_EQ(sm.memory.requests.size(), 1U);
  EXPECT_GT(mma_at({0, 1}) - once, 400);
  EXPECT_EQ(sm.memory.requests.size(), 2U);
}

TEST(L1, HasWhatSharedMemoryLeaves) {
  const gpu::GpuSpec spec = one_sub_partition();
  SmsBeforeMemory sm("sm", spec, 100);
  // 64 KiB, twice.
  std::vector<int> lines;
  for (int i = 0; i < 1024; ++i) {
    lines.push_back(i % 512);
  }
  const LoadChain twice(lines);
  const auto requests = [&](base::Bytes shared_memory) {
    sm.run(twice.launch(shared_memory));
    return sm.memory.requests.size();
  };
  EXPECT_EQ(requests(base::Bytes()), 512U);
  EXPECT_GT(requests(spec.sm.shared_memory), 512U + 256U);
  EXPECT_EQ(requests(spec.sm.l1_and_shared_memory), 1024U);  // nothing is left
}

TEST(L1, IsPassedByAsynchronousCopies) {
  const KernelParts parts(instruction(DataType::kF16, 16));
  isa::WarpInstruction copy;
  copy.opcode = isa::Opcode::kCopy;
  isa::WarpInstruction commit;
  commit.opcode = isa::Opcode::kCommitCopies;
  isa::WarpInstruction wait;
  wait.opcode = isa::Opcode::kWaitCopies;
  const isa::WarpProgram program = program_of({copy, commit, wait, copy, commit, wait});
  SmsBeforeMemory sm("sm", one_sub_partition(), 100);
  sm::KernelLaunch launch = parts.launch(program);
  const LineTraffic traffic;
  launch.traffic = &traffic;
  sm.run(launch);
  EXPECT_EQ(sm.memory.requests.size(), 2U);
}

// --- a producer warp
// -----------------------------------------------------------------------------------------------

constexpr const char* kH100 = "h100-sxm5-80gb";
constexpr base::GemmShape kHopperTile{128, 128, 64};
constexpr std::int64_t kOutputTiles = 4;
constexpr std::int64_t kDepth = 8;       ///< k-tiles
constexpr std::size_t kReadsOfTile = 2;  ///< A and B of a k-tile

/// Four output tiles on one SM: all by one persistent CTA, or one by each of four.
struct Tiles : OneCta {
  explicit Tiles(const gpu::GpuSpec& spec)
      : OneCta(spec, {128, 128 * kOutputTiles, 64 * kDepth}, kHopperTile),
        schedule(kernel, kOutputTiles, kDepth, 1),
        scheduled_traffic(traffic, schedule) {}

  sm::KernelLaunch persistent() const {
    sm::KernelLaunch all = launch(schedule.ctas());
    all.work = &schedule;
    all.traffic = &scheduled_traffic;
    return all;
  }
  sm::KernelLaunch one_each() const { return launch(kOutputTiles); }

  kernels::WorkSchedule schedule;
  kernels::ScheduledTraffic scheduled_traffic;
};

TEST(ProducerWarp, AsksForTheSecondOutputTileBeforeTheEpilogueOfTheFirstOneBegins) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kH100, 1);
  SmsBeforeMemory sm("sm", spec, 600);
  const Tiles tiles(spec);
  ASSERT_TRUE(tiles.kernel.persistent());
  ASSERT_EQ(tiles.schedule.ctas(), 1);
  sm.run(tiles.persistent());
  std::vector<std::int64_t> reads, writes;
  for (const ProtocolMemory::Request& request : sm.memory.requests) {
    (request.is_write ? writes : reads).push_back(request.cycle);
  }
  ASSERT_EQ(reads.size(), kOutputTiles * kDepth * kReadsOfTile);
  EXPECT_LT(reads[kDepth * kReadsOfTile], writes.front());
  // As far ahead as there are stages and no further: the next copy waits until the first k-tile has
  // come and been read.
  const auto stages = static_cast<std::size_t>(tiles.kernel.stages);
  EXPECT_LT(reads[stages * kReadsOfTile - 1] - reads[0], 600);
  EXPECT_GT(reads[stages * kReadsOfTile] - reads[0], 600);
}

TEST(ProducerWarp, HidesThePrologueOfEveryOutputTileButTheFirst) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kH100, 1);
  constexpr int kLatency = 600;
  SmsBeforeMemory sm("sm", spec, kLatency);
  const Tiles tiles(spec);
  const std::int64_t persistent = sm.run(tiles.persistent());
  const std::int64_t one_each = sm.run(tiles.one_each());
  const auto saved = static_cast<double>(one_each - persistent) / (kOutputTiles - 1);
  // The latency, and of the bytes of the first k-tiles, one less than there are stages, what is
  // written before they can be read; with it go launch and exit of a CTA and a barrier.
  const auto write_cycles = static_cast<double>(tiles.kernel.shared_memory_per_cta.count()) *
                            (tiles.kernel.stages - 1) / tiles.kernel.stages /
                            static_cast<double>(spec.sm.shared_memory_bytes_per_cycle().count());
  EXPECT_GT(saved, kLatency);
  EXPECT_LT(saved, kLatency + write_cycles + 50);
}

TEST(ProducerWarp, MeetsTheOthersAtTwoBarriersAKTileWhichStagesHide) {
  const gpu::GpuSpec spec = support::gpu_with_sms(kH100, 1);
  gpu::GpuSpec slow = spec;
  slow.sm.barrier_latency_cycles += 1;
  SmsBeforeMemory sm("sm", spec, 300);
  SmsBeforeMemory slow_sm("slow", slow, 300);
  const auto added = [&](int stages) {
    OneCta grid(spec, {128, 128, 64 * kDepth}, kHopperTile);
    grid.kernel.stages = stages;
    const isa::WarpProgram program = kernels::gemm_warp_program(grid.kernel, kDepth);
    sm::KernelLaunch launch = grid.launch();
    launch.program = &program;
    const std::int64_t before = sm.run(launch);
    return slow_sm.run(launch) - before;
  };
  // With one stage every k-tile is waited for at the full barrier, and all but the first at the
  // empty one.
  EXPECT_EQ(added(1), 2 * kDepth - 1);
  EXPECT_LE(added(4), 1);
}

}  // namespace
}  // namespace sptc::timing
