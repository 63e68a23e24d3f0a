// SPDX-License-Identifier: Apache-2.0
// Shared memory and the warpgroup unit, to the cycle. Targets: Sun et al., arXiv 2206.02874, Tables
// 9 and 10; Luo et al., arXiv 2501.12084, Table 10.
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <utility>

namespace sptc::timing {
namespace {

using numerics::DataType;

isa::WarpInstruction load_with(int registers, int ways) {
  isa::WarpInstruction load = load_into({0, registers});
  load.conflict_ways = static_cast<std::uint8_t>(ways);
  return load;
}

/// Cycles between the issue of a load and that of an instruction that needs it.
std::int64_t latency_of(SmHarness& harness, int registers, int ways) {
  const KernelParts parts(instruction(DataType::kF16, 16));
  isa::WarpInstruction load = load_with(registers, ways);
  load.d.base = Registers(parts.map).a().base;
  const isa::WarpProgram program = program_of({load, mma_into(parts, 0)});
  RecordingMemory memory(harness);
  harness.run(parts.launch(program, &memory));
  // Shared memory sees a load one cycle after its issue.
  return harness.issued()[0].cycle - (memory.loads()[0].cycle - 1);
}

TEST(SharedMemoryTiming, ALoadTakesTwentyOneCyclesAndTwoPerWavefront) {
  SmHarness harness("gpu", one_sub_partition());
  EXPECT_EQ(latency_of(harness, 1, 1), 23);
  EXPECT_EQ(latency_of(harness, 1, 2), 25);
  EXPECT_EQ(latency_of(harness, 1, 4), 29);
  EXPECT_EQ(latency_of(harness, 1, 8), 37);
  EXPECT_EQ(latency_of(harness, 2, 1), 25);
  EXPECT_EQ(latency_of(harness, 4, 1), 29);
}

// 32 lanes that read 32 words in a row meet in pairs where there are 16 banks.
TEST(SharedMemoryTiming, AConflictIsAsBadAsTheBanksAreFew) {
  gpu::GpuSpec spec = one_sub_partition();
  ASSERT_EQ(spec.sm.shared_memory_banks, 32);
  spec.sm.shared_memory_banks = 16;
  SmHarness harness("gpu", spec);
  EXPECT_EQ(latency_of(harness, 1, 1), 25);  // as of two ways with 32
  EXPECT_EQ(latency_of(harness, 1, 2), 29);  // as of four
  EXPECT_EQ(latency_of(harness, 4, 1), 37);
}

TEST(SharedMemoryTiming, AClaimOfTheBanksDelaysALoadByItsWavefronts) {
  SmHarness harness("gpu", one_sub_partition());
  const std::int64_t alone = latency_of(harness, 1, 1);
  const KernelParts parts(instruction(DataType::kF16, 16));
  isa::WarpInstruction load = load_with(1, 1);
  load.d.base = Registers(parts.map).a().base;
  const isa::WarpProgram program = program_of({load, mma_into(parts, 0)});
  // 4096 bytes, 32 cycles, claimed in the cycle in which the warp is launched: two cycles (CTA
  // unit, scheduler) and the way of the request before the load comes.
  RecordingMemory memory(harness);
  harness.run(parts.launch(program, &memory));
  const std::int64_t arrival = memory.loads()[0].cycle;
  sm::SharedMemory& shared = harness.shared_memory();
  const std::int64_t base = harness.absolute_now();
  EXPECT_EQ(shared.claim(base::Bytes(4096)) - base, 32);
  RecordingMemory again(harness);
  harness.run(parts.launch(program, &again));
  EXPECT_EQ(again.loads()[0].cycle, arrival);
  const std::int64_t delayed = harness.issued()[0].cycle - (again.loads()[0].cycle - 1);
  // The wavefront follows the claim: it is through one cycle after it, and not two after its own
  // arrival.
  EXPECT_EQ(delayed - alone, 32 - arrival - 1);
}

TEST(SharedMemoryTiming, WavefrontsKeepAnyPaceToTheCycle) {
  // Thousandths of a wavefront per cycle would make 3 cycles 3.003, and these endless.
  gpu::GpuSpec spec = one_sub_partition();
  spec.sm.shared_memory_wavefront_cycles = 3001;
  SmHarness harness("gpu", spec);
  EXPECT_EQ(latency_of(harness, 4, 8) - latency_of(harness, 1, 1), (4 * 8 - 1) * 3001);
}

TEST(SharedMemoryTiming, FourSubPartitionsShareOneWavefrontPerCycle) {
  SmHarness harness("gpu", support::gpu_with_sms("a100-sxm4-80gb", 1));
  const KernelParts parts(instruction(DataType::kF16, 16));
  const isa::WarpProgram program = program_of(independent_loads(30));
  const std::int64_t one = harness.run(parts.launch(program, nullptr, 1)).cycles;
  const std::int64_t four = harness.run(parts.launch(program, nullptr, 4)).cycles;
  const std::int64_t eight = harness.run(parts.launch(program, nullptr, 8)).cycles;
  EXPECT_NEAR(static_cast<double>(one), 30 * 4 * 2, 40);   // its own pace
  EXPECT_NEAR(static_cast<double>(four), 4 * 30 * 4, 40);  // the banks
  EXPECT_NEAR(static_cast<double>(eight), 2 * 4 * 30 * 4, 40);
}

// --- wgmma

mma::MmaInstruction wgmma(int n) {
  return {.shape = {64, n, 16},
          .a_type = DataType::kF16,
          .b_type = DataType::kF16,
          .accumulator = DataType::kF32,
          .family = mma::MmaFamily::kWgmma};
}

isa::WarpInstruction wgmma_step(isa::Opcode opcode) {
  isa::WarpInstruction instruction;
  instruction.opcode = opcode;
  return instruction;
}

/// `count` wgmma and a wait for all of them.
isa::WarpProgram wgmmas(int count) {
  std::vector<isa::WarpInstruction> code(static_cast<std::size_t>(count), wgmma_step(isa::Opcode::kWgmma));
  code.push_back(wgmma_step(isa::Opcode::kWgmmaCommit));
  code.push_back(wgmma_step(isa::Opcode::kWgmmaWait));
  return program_of(std::move(code));
}

class WgmmaTiming : public testing::Test {
 protected:
  /// Cycles of a CTA of `warps` warps, each `count` wgmma and a wait for all of them.
  std::int64_t cycles(int count, int warps) {
    const auto context = mma::StepContext::timing_only(wgmma(256), 32);
    const isa::WarpProgram program = wgmmas(count);
    return harness.run({&program, &context, nullptr, warps, 1, 1, nullptr}).cycles;
  }

  SmHarness harness{"gpu", support::gpu_with_sms("h800-pcie", 1)};
};

TEST(Tcgen05Timing, IsBoundByArithmeticOrByItsPartOfTheOperands) {
  mma::MmaInstruction instruction = wgmma(0);
  instruction.family = mma::MmaFamily::kTcgen05;
  instruction.shape.m = 128;
  SmHarness harness{"gpu", support::gpu_with_sms("b200", 1)};
  const auto interval = [&](int n, int cta_group) {
    instruction.shape.n = n;
    const auto context = mma::StepContext::timing_only(instruction, 32);
    const auto cycles = [&](int count) {
      const isa::WarpProgram program = wgmmas(count);
      sm::KernelLaunch launch{&program, &context, nullptr, 4, 1, 1, nullptr};
      launch.cta_group = cta_group;
      return harness.run(launch).cycles;
    };
    return (cycles(120) - cycles(20)) / 100;
  };
  EXPECT_EQ(interval(256, 1), 128);
  EXPECT_EQ(interval(128, 1), 64);  // 32 cycles of A and 32 of B are as long
  EXPECT_EQ(interval(64, 1), 48);   // 32 of A and 16 of B
  EXPECT_EQ(interval(16, 1), 36);
  EXPECT_EQ(interval(64, 2), 40);  // half of B
  EXPECT_EQ(interval(256, 2), 128);
}

TEST(WgmmaPipeline, HasTheStagesOfMmaSyncButNoSelector) {
  const auto context = mma::StepContext::timing_only(wgmma(64), 32);
  const isa::WarpProgram program = wgmmas(1);
  gpu::GpuSpec gpu = support::gpu_with_sms("h800-pcie", 1);
  SmHarness shipped{"shipped", gpu};
  gpu.sm.tensor_core.selector_latency_cycles += 100;
  SmHarness slow_selector{"slow_selector", gpu};
  gpu.sm.tensor_core.round_latency_cycles += 100;
  SmHarness slow_rounding{"slow_rounding", gpu};
  const auto cycles = [&](SmHarness& harness) {
    return harness.run({&program, &context, nullptr, 4, 1, 1, nullptr}).cycles;
  };
  const std::int64_t usual = cycles(shipped);
  EXPECT_EQ(cycles(slow_selector), usual);
  EXPECT_EQ(cycles(slow_rounding), usual + 100);
}

TEST_F(WgmmaTiming, TwoWarpgroupsShareTheTensorCores) {
  const std::int64_t one = cycles(10, 4);
  const std::int64_t two = cycles(10, 8);
  EXPECT_EQ(two - one, 10 * 128);
}

TEST_F(WgmmaTiming, AWaitHoldsUntilTheGroupIsComplete) {
  const auto context = mma::StepContext::timing_only(wgmma(256), 32);
  const isa::WarpProgram waits =
      program_of({wgmma_step(isa::Opcode::kWgmma), wgmma_step(isa::Opcode::kWgmmaCommit),
                  wgmma_step(isa::Opcode::kWgmmaWait), barrier(), wgmma_step(isa::Opcode::kWgmma)});
  isa::WarpInstruction one_pending = wgmma_step(isa::Opcode::kWgmmaWait);
  one_pending.pending_groups = 1;
  const isa::WarpProgram goes_on = program_of({wgmma_step(isa::Opcode::kWgmma), wgmma_step(isa::Opcode::kWgmmaCommit),
                                               one_pending, barrier(), wgmma_step(isa::Opcode::kWgmma)});
  const std::int64_t held = harness.run({&waits, &context, nullptr, 4, 1, 1, nullptr}).cycles;
  const std::int64_t free = harness.run({&goes_on, &context, nullptr, 4, 1, 1, nullptr}).cycles;
  // With a group pending the second one is issued while the first is multiplied.
  EXPECT_EQ(free, cycles(2, 4));
  EXPECT_GT(held, free + 15);
}

}  // namespace
}  // namespace sptc::timing
