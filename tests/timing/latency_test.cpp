// SPDX-License-Identifier: Apache-2.0
// Latencies and rates of the tensor core, the scheduler and the SM, to the cycle. The targets are
// the A100 measurements of Sun et al., arXiv 2206.02874 (configs/README.md).
#include "models/base/error.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

/// Cycles between the issues of two instructions of which the second needs the result of the first.
std::int64_t completion_latency(SmHarness& harness, const mma::MmaInstruction& instruction) {
  const KernelParts parts(instruction);
  const isa::WarpProgram program = dependent_mmas(parts, 2);
  harness.run(parts.launch(program));
  return harness.issued()[1].cycle - harness.issued()[0].cycle;
}

TEST(CompletionLatency, IsEighteenCyclesForOneStepAndTwentyFiveForTwo) {
  SmHarness harness("gpu", one_sub_partition());
  // Sparse instructions of the same compressed depth take the same way.
  for (const auto& [which, cycles] : {std::pair{instruction(DataType::kF16, 8), 18},
                                      {instruction(DataType::kF16, 16), 25},
                                      {instruction(DataType::kBf16, 16), 25},
                                      {instruction(DataType::kTf32, 4), 18},
                                      {instruction(DataType::kTf32, 8), 25},
                                      {instruction(DataType::kS8, 32), 25},
                                      {instruction(DataType::kF16, 16, true), 18},
                                      {instruction(DataType::kF16, 32, true), 25}}) {
    EXPECT_EQ(completion_latency(harness, which), cycles) << which.ptx_name();
  }
}

TEST(CompletionLatency, DIsNotWrittenACycleEarly) {
  SmHarness harness("gpu", one_sub_partition());
  // A store of D may issue in the cycle in which D is complete, and not in the one before.
  const KernelParts parts(instruction(DataType::kF16, 8));
  RecordingMemory memory(harness);
  const Registers registers(parts.map);
  const isa::WarpProgram program = program_of({mma_into(parts, 0), store_of(registers.accumulator(0))});
  harness.run(parts.launch(program, &memory));
  ASSERT_EQ(memory.stores().size(), 1U);
  EXPECT_EQ(memory.stores()[0].cycle - harness.issued()[0].cycle, 18);
}

TEST(IssueInterval, IsTheTimeThatTheMultipliersNeedAndOfSparseWithLargeKThatOfHalfTheWork) {
  SmHarness harness("gpu", one_sub_partition_without_gap());
  for (const auto& [which, cycles] : {std::pair{instruction(DataType::kF16, 8), 4},
                                      {instruction(DataType::kF16, 16), 8},
                                      {instruction(DataType::kTf32, 4), 4},
                                      {instruction(DataType::kTf32, 8), 8},
                                      {instruction(DataType::kS8, 16), 4},
                                      {instruction(DataType::kS8, 32), 8},
                                      {instruction(DataType::kF16, 32, true), 8},
                                      {instruction(DataType::kTf32, 16, true), 8},
                                      {instruction(DataType::kS8, 64, true), 8}}) {
    EXPECT_DOUBLE_EQ(issue_interval(harness, which), cycles) << which.ptx_name();
  }
}

TEST(IssueInterval, OfThreeIndependentChainsIsBoundByLatency) {
  SmHarness harness("gpu", one_sub_partition());
  const KernelParts parts(instruction(DataType::kF16, 16));
  const isa::WarpProgram program = mmas_in_turn(parts, 240, 3);
  harness.run(parts.launch(program));
  // One warp issues a cycle later than the multipliers could take the next instruction: every 9
  // cycles, where Sun et al. measure 9.13.
  EXPECT_EQ(harness.issued()[180].cycle - harness.issued()[90].cycle, 90 * 9);
}

TEST(IssueInterval, OfSparseWithSmallKIsBoundByTheMetadataPort) {
  SmHarness harness("gpu", one_sub_partition_without_gap());
  // 128 bytes of metadata at 20.6 bytes per cycle: 6.214 cycles, and not the 4 of the multipliers.
  const double interval = issue_interval(harness, instruction(DataType::kF16, 16, true));
  EXPECT_NEAR(interval, 128 / 20.6, 0.011);
  EXPECT_NEAR(issue_interval(harness, instruction(DataType::kTf32, 8, true)), 128 / 20.6, 0.011);
}

// --- selectors
// ---------------------------------------------------------------------------------------------

/// The same metadata register and, from one instruction to the next, another selector of it.
isa::WarpProgram with_selectors(const KernelParts& parts, int selectors) {
  isa::WarpProgram program = independent_mmas(parts, 200);
  for (std::size_t i = 0; i < program.prologue.size(); ++i) {
    program.prologue[i].selector = static_cast<std::uint8_t>(i % static_cast<std::size_t>(selectors));
  }
  return program;
}

std::int64_t cycles_of_40(SmHarness& harness, const mma::MmaInstruction& which, int selectors, int warps) {
  const KernelParts parts(which);
  const isa::WarpProgram program = with_selectors(parts, selectors);
  harness.run(parts.launch(program, nullptr, warps));
  return harness.issued()[100].cycle - harness.issued()[60].cycle;
}

TEST(SelectorChange, MakesAWarpWaitACycleForItsMetadata) {
  SmHarness harness("gpu", one_sub_partition());
  const mma::MmaInstruction small = instruction(DataType::kF16, 16, true);
  // Sun et al., Table 6, 4 warps: 6.6 to 6.9 cycles where the selector stays, 8.0 where it changes.
  EXPECT_EQ(cycles_of_40(harness, small, 1, 1), 40 * 7);
  EXPECT_EQ(cycles_of_40(harness, small, 4, 1), 40 * 8);
  // With two warps the port is what both wait for: 6.2 and 6.3 cycles.
  EXPECT_LE(std::abs(cycles_of_40(harness, small, 4, 2) - cycles_of_40(harness, small, 1, 2)), 1);
}

TEST(SelectorChange, IsHiddenBehindLongerArithmetic) {
  SmHarness harness("gpu", one_sub_partition());
  const mma::MmaInstruction large = instruction(DataType::kF16, 32, true);
  EXPECT_EQ(cycles_of_40(harness, large, 1, 1), 40 * 9);
  EXPECT_EQ(cycles_of_40(harness, large, 2, 1), 40 * 9);
}

TEST(SelectorChange, OfManyCyclesBlocksUntilTheyHavePassed) {
  gpu::GpuSpec slow = one_sub_partition();
  slow.sm.tensor_core.selector_change_cycles = 20;
  SmHarness harness("slow", slow);
  const KernelParts parts(instruction(DataType::kF16, 16, true));
  isa::WarpProgram program = independent_mmas(parts, 4);
  program.prologue[1].selector = 1;
  program.prologue[2].selector = 1;
  harness.run(parts.launch(program));
  const auto& issued = harness.issued();
  EXPECT_EQ(issued[1].cycle - issued[0].cycle, 7);
  // 6.2 + 20 cycles of metadata, and the gap: blocked for 26 cycles, ready in the 27th.
  EXPECT_EQ(issued[2].cycle - issued[1].cycle, 27);
  EXPECT_EQ(issued[3].cycle - issued[2].cycle, 7);
}

// --- one width at a time
// ---------------------------------------------------------------------------------------------

TEST(TensorCoreWidths, EachSlowsTheInstructionsThatItBoundsAndNoOthers) {
  struct Width {
    const char* name;
    void (*change)(tensor_core::TensorCoreSpec& core);
    mma::MmaInstruction instruction;
    double interval;
  };
  using Core = tensor_core::TensorCoreSpec;
  const mma::MmaInstruction shallow = instruction(DataType::kF16, 8);
  const mma::MmaInstruction dense = instruction(DataType::kF16, 16);
  const mma::MmaInstruction small = instruction(DataType::kF16, 16, true);
  const mma::MmaInstruction sparse = instruction(DataType::kF16, 32, true);
  const auto narrow_b = [](Core& core) { core.operand_b_port_bytes_per_cycle = 51.2; };
  const auto narrow_metadata = [](Core& core) { core.metadata_port_bytes_per_cycle = 8; };
  const auto wide_metadata = [](Core& core) { core.metadata_port_bytes_per_cycle = 128; };
  const auto narrow_c = [](Core& core) { core.accumulator_port_bytes_per_cycle = 64; };
  const auto slow_selector = [](Core& core) { core.selector_bytes_per_cycle /= 2; };
  const auto half_the_units = [](Core& core) {
    core.dot_units /= 2;
    core.f32_dot_units /= 2;  // some of those
  };
  const auto window_of_one = [](Core& core) { core.instruction_window = 1; };
  const std::vector<Width> widths{{"narrow B port", narrow_b, sparse, 10},  // 512 bytes of B at 51.2 per cycle
                                  {"narrow B port", narrow_b, dense, 8},
                                  {"narrow metadata port", narrow_metadata, sparse, 16},  // 128 bytes at 8 per cycle
                                  {"narrow metadata port", narrow_metadata, dense, 8},
                                  {"wide metadata port", wide_metadata, small, 4},
                                  {"narrow accumulator port", narrow_c, shallow, 8},
                                  {"narrow accumulator port", narrow_c, dense, 8},
                                  {"half the selector", slow_selector, sparse, 16},
                                  {"half the selector", slow_selector, dense, 16},
                                  {"half the dot units", half_the_units, dense, 16},
                                  // Fetch waits for the credit of the last step: 2 + 1 cycles to the multipliers, 7 to
                                  // the second step, 1 back.
                                  {"window of one", window_of_one, dense, 11}};
  std::vector<std::unique_ptr<SmHarness>> harnesses;
  for (const Width& width : widths) {
    gpu::GpuSpec spec = one_sub_partition_without_gap();
    width.change(spec.sm.tensor_core);
    harnesses.push_back(std::make_unique<SmHarness>(("gpu" + std::to_string(harnesses.size())).c_str(), spec));
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    EXPECT_DOUBLE_EQ(issue_interval(*harnesses[i], widths[i].instruction), widths[i].interval)
        << widths[i].name << ", " << widths[i].instruction.ptx_name();
  }
}

TEST(OperandReuse, EndsWhereALoadOrAnotherWarpWritesTheRegisters) {
  SmHarness harness("gpu", one_sub_partition());
  const KernelParts parts(instruction(DataType::kF16, 16));
  const isa::WarpInstruction mma = mma_into(parts, 0);
  // Of two banks, what each reads of the ten registers of one more instruction on the same A and B.
  const auto read_after = [&](std::vector<isa::WarpInstruction> code) {
    const isa::WarpProgram program = program_of(std::move(code));
    harness.run(parts.launch(program));
    return harness.core().operand_fetch.banks.demand(0, mma).most_of_a_bank();
  };
  EXPECT_EQ(read_after({mma}), 3);
  EXPECT_EQ(read_after({mma, load_into(Registers(parts.map).accumulator(1))}), 3);
  EXPECT_EQ(read_after({mma, load_into(mma.a)}), 4);
  EXPECT_EQ(read_after({mma, load_into({mma.b.base + 1, 2})}), 4);
  EXPECT_EQ(read_after({mma, load_into(mma.a), load_into(mma.b)}), 5);
  EXPECT_EQ(read_after({mma}), 3);
  EXPECT_EQ(read_after({barrier()}), 5);  // of another CTA
}

TEST(Selector, AnInstructionThatNeedsMoreInputsThanItHasIsRefused) {
  gpu::GpuSpec narrow = one_sub_partition();
  narrow.sm.tensor_core.selector_inputs = 2;
  SmHarness harness("narrow", narrow);
  EXPECT_NO_THROW(issue_interval(harness, instruction(DataType::kTf32, 16, true)));
  EXPECT_THROW(issue_interval(harness, instruction(DataType::kF16, 32, true)), base::InternalError);
}

// --- one warp alone
// ---------------------------------------------------------------------------------------------

TEST(SameWarpGap, AWarpWaitsACycleAndAnotherDoesNot) {
  SmHarness harness("gpu", one_sub_partition());
  const KernelParts parts(instruction(DataType::kF16, 16));
  const isa::WarpProgram program = program_of({mma_into(parts, 0), mma_into(parts, 1)});
  harness.run(parts.launch(program));
  // The multipliers need 8 cycles: blocked in the eighth cycle, ready in the ninth.
  EXPECT_EQ(harness.issued()[1].cycle - harness.issued()[0].cycle, 9);
  harness.run(parts.launch(program, nullptr, 2));
  EXPECT_EQ(harness.issued()[1].warp_slot, 1);
  EXPECT_EQ(harness.issued()[1].cycle - harness.issued()[0].cycle, 1);
}

TEST(SameWarpGap, IsToTheNextWholeCycleBehindAPort) {
  SmHarness harness("gpu", one_sub_partition());
  const KernelParts parts(instruction(DataType::kF16, 16, true));
  const isa::WarpProgram program = program_of({mma_into(parts, 0), mma_into(parts, 1)});
  harness.run(parts.launch(program));
  EXPECT_EQ(harness.issued()[1].cycle - harness.issued()[0].cycle, 7);  // 6.2 cycles of metadata
}

// --- scheduler and SM
// ---------------------------------------------------------------------------------------------

/// One sub-partition, and what programs of dense f16 instructions are made of.
class OneSubPartition : public testing::Test {
 protected:
  /// Numbers of the warps that loaded, in the order of the loads.
  static std::string warps_of(const std::vector<RecordingMemory::Access>& loads) {
    std::string warps;
    for (const RecordingMemory::Access& load : loads) {
      warps += std::to_string(load.warp);
    }
    return warps;
  }

  SmHarness harness{"gpu", one_sub_partition()};
  const KernelParts parts{instruction(DataType::kF16, 16)};
  const Registers registers{parts.map};
  RecordingMemory memory{harness};
};

using Barrier = OneSubPartition;
using ScoreboardTiming = OneSubPartition;
using WarpScheduler = OneSubPartition;

TEST_F(Barrier, ReleasesAfterItsLatency) {
  const isa::WarpProgram straight = program_of({mma_into(parts, 0)});
  const isa::WarpProgram with_barrier = program_of({barrier(), mma_into(parts, 0)});
  harness.run(parts.launch(straight));
  const std::int64_t first = harness.issued()[0].cycle;
  harness.run(parts.launch(with_barrier));
  EXPECT_EQ(harness.issued()[0].cycle - first, 4);
}

TEST_F(Barrier, HoldsEveryWarpUntilTheLastArrives) {
  const isa::WarpProgram program = program_of({barrier(), mma_into(parts, 0)});
  harness.run(parts.launch(program, nullptr, 6));
  const std::int64_t all_six = harness.issued()[0].cycle;
  harness.run(parts.launch(program, nullptr, 1));
  // One warp arrives per cycle, so the sixth five cycles later than the first.
  EXPECT_EQ(all_six - harness.issued()[0].cycle, 5);
}

TEST_F(ScoreboardTiming, WriteAfterWriteWaitsForTheFirstWrite) {
  const isa::WarpProgram program =
      program_of({load_into(registers.a()), load_into(registers.b()), load_into(registers.a())});
  harness.run(parts.launch(program, &memory));
  EXPECT_EQ(memory.loads()[1].cycle - memory.loads()[0].cycle, 1);
  EXPECT_EQ(memory.loads()[2].cycle - memory.loads()[0].cycle, 29);
}

TEST_F(ScoreboardTiming, WriteAfterReadWaitsUntilTheOperandsAreRead) {
  const isa::WarpProgram program =
      program_of({mma_into(parts, 0), load_into({kHarnessRegisters - 8, 4}), load_into(registers.a())});
  harness.run(parts.launch(program, &memory));
  const std::int64_t issue = harness.issued()[0].cycle;
  EXPECT_EQ(memory.loads()[0].cycle - 1 - issue, 1);  // the next cycle: independent
  EXPECT_EQ(memory.loads()[1].cycle - 1 - issue,
            2);  // fetched one cycle after issue, heard of one later
}

TEST(ScoreboardBehindABusyPort, WriteAfterReadWaitsLonger) {
  gpu::GpuSpec narrow = one_sub_partition_without_gap();
  narrow.sm.tensor_core.operand_a_port_bytes_per_cycle = 8;  // 64 cycles for A of one instruction
  SmHarness harness("gpu", narrow);
  const KernelParts parts(instruction(DataType::kF16, 16));
  const Registers registers(parts.map);
  RecordingMemory memory(harness);
  const isa::WarpProgram program = program_of({mma_into(parts, 0), mma_into(parts, 1), load_into(registers.a())});
  harness.run(parts.launch(program, &memory));
  EXPECT_EQ(memory.loads()[0].cycle - 1 - harness.issued()[0].cycle, 64 + 2);
}

TEST_F(WarpScheduler, StaysWithAWarpAndThenTakesTheOldest) {
  const isa::WarpProgram program = program_of(
      {load_into(registers.a()), load_into(registers.b()), mma_into(parts, 0), load_into({kHarnessRegisters - 8, 4})});
  harness.run(parts.launch(program, &memory, 3));
  // Greedy: both loads of a warp, then the next warp. Each issues its last load right behind its
  // mma.
  EXPECT_EQ(warps_of(memory.loads()), "001122012");
  std::string mmas;
  for (const auto& issued : harness.issued()) {
    mmas += std::to_string(issued.warp_slot);
  }
  EXPECT_EQ(mmas, "012");
}

TEST_F(WarpScheduler, RunsAWarpToItsEndAsLongAsItCanIssue) {
  std::vector<isa::WarpInstruction> code = independent_loads(30);
  code.insert(code.begin(), load_into({0, 4}));  // the second one depends on it
  const isa::WarpProgram program = program_of(std::move(code));
  harness.run(parts.launch(program, &memory, 2));
  // Both start with one load and stall on it; warp 0's arrives first and warp 0 then runs to its
  // end.
  EXPECT_EQ(warps_of(memory.loads()), "01" + std::string(30, '0') + std::string(30, '1'));
}

TEST_F(WarpScheduler, IssuesOneInstructionPerCycle) {
  const isa::WarpProgram program = program_of(independent_loads(8));
  harness.run(parts.launch(program, &memory, 4));
  ASSERT_EQ(memory.loads().size(), 32U);
  for (std::size_t i = 1; i < 32; ++i) {
    EXPECT_EQ(memory.loads()[i].cycle - memory.loads()[i - 1].cycle, 1);
  }
}

TEST(TwoIssuesPerCycle, GoOnBehindAnInstructionOfSeveralSlots) {
  gpu::GpuSpec wide = one_sub_partition();
  wide.sm.issue_per_cycle = 2;
  SmHarness harness("gpu", wide);
  const KernelParts parts(instruction(DataType::kF16, 16));
  RecordingMemory memory(harness);
  std::vector<isa::WarpInstruction> code = independent_loads(4);
  code.front().issue_slots = 3;
  const isa::WarpProgram program = program_of(std::move(code));
  harness.run(parts.launch(program, &memory));
  const std::int64_t first = memory.loads()[0].cycle;
  EXPECT_EQ(memory.loads()[1].cycle - first, 3);
  EXPECT_EQ(memory.loads()[2].cycle - first, 3);
  EXPECT_EQ(memory.loads()[3].cycle - first, 4);
}

}  // namespace
}  // namespace sptc::timing
