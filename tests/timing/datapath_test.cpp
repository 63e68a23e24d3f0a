// SPDX-License-Identifier: Apache-2.0
// Cycles do not depend on whether bits travel, and the bits that travel are those of the plain
// arithmetic: whole GEMMs and random instruction streams.
#include "models/base/random.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/mma_operands.h"
#include "tests/timing/gemm_operands.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

constexpr const char* kA100 = "a100-sxm4-80gb";

// --- GEMMs
// -----------------------------------------------------------------------------------------------------------

/// A random GEMM that the tensor cores finish in a blink: M, N below 150, K below 200.
RandomGemm random_gemm(std::uint64_t number) {
  const base::RandomStream random = base::RandomStream(42).fork(std::to_string(number));
  constexpr std::array kTypes{DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8};
  RandomGemm gemm;
  gemm.problem.dtype = kTypes[random.below(0, kTypes.size())];
  gemm.problem.sparse = random.below(1, 2) == 1;
  gemm.problem.batch = random.below(2, 4) == 0 ? 2 : 1;
  gemm.problem.shape.m = static_cast<std::int64_t>(1 + random.below(3, 150));
  gemm.problem.shape.n = static_cast<std::int64_t>(1 + random.below(4, 150));
  gemm.problem.shape.k = static_cast<std::int64_t>(1 + random.below(5, 200));
  if (gemm.problem.sparse) {
    gemm.problem.shape.k = base::round_up(gemm.problem.shape.k, 4);
  }
  if (random.below(6, 3) == 0) {
    const mma::MmaInstruction mma = mma::gemm_instruction(gemm.problem.dtype, gemm.problem.sparse);
    constexpr std::array kExtents{16, 32, 64, 96};
    gemm.overrides.cta_tile = base::GemmShape{kExtents[random.below(7, 4)], kExtents[random.below(8, 4)],
                                              2 * mma.shape.k * (1 + static_cast<int>(random.below(9, 2)))};
  }
  return gemm;
}

void expect_same_cycles_and_words(gpu::GemmSimulator& simulator, const RandomGemm& gemm, std::uint64_t number) {
  const std::vector<kernels::GemmOperands> operands = random_gemm_operands(gemm.problem, number);
  const gpu::GemmRun with_values = simulator.run(gemm.problem, gemm.overrides, &operands);
  const gpu::GemmRun without = simulator.run(gemm.problem, gemm.overrides, nullptr);
  const std::string name = describe(gemm.problem) + " #" + std::to_string(number);
  EXPECT_EQ(with_values.cycles, without.cycles) << name;
  EXPECT_EQ(with_values.issued_macs, without.issued_macs) << name;
  EXPECT_GT(with_values.cycles, 0) << name;
  EXPECT_TRUE(without.d.empty());
  ASSERT_EQ(static_cast<std::int64_t>(with_values.d.size()), gemm.problem.batch);
  const base::RandomStream sample = base::RandomStream(99).fork(std::to_string(number));
  for (std::uint64_t i = 0; i < 64; ++i) {
    const auto batch = sample.below(3 * i, with_values.d.size());
    const base::Matrix<numerics::Word>& d = with_values.d[batch];
    const auto row = sample.below(3 * i + 1, d.rows());
    const auto col = sample.below(3 * i + 2, d.cols());
    ASSERT_EQ(d(row, col), plain_element(gemm.problem, operands[batch], row, col))
        << name << " at " << batch << "," << row << "," << col;
  }
}

TEST(GemmDatapath, SixtyRandomGemmsTakeTheSameCyclesWithAndWithoutValuesAndMatchThePlainArithmetic) {
  gpu::GemmSimulator simulator(support::gpu_with_sms(kA100, 3), {false});
  for (std::uint64_t number = 0; number < 60; ++number) {
    expect_same_cycles_and_words(simulator, random_gemm(number), number);
  }
}

// Turing's f16 rules are Ampere's, so plain_element is the oracle here too.
TEST(GemmDatapath, TuringsShorterInstructionCarriesTheSameValuesInTheSameCycles) {
  gpu::GemmSimulator simulator(support::gpu_with_sms("t4", 3), {false});
  for (const base::GemmShape& shape : {base::GemmShape{1, 1, 1}, {100, 75, 200}, {130, 66, 64}}) {
    const kernels::GemmProblem problem{shape, 1, DataType::kF16, false};
    EXPECT_EQ(simulator.run(problem, {}, nullptr).kernel.instruction.ptx_name(),
              "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
    expect_same_cycles_and_words(simulator, {problem, {}}, 7);
  }
}

// --- random instruction streams
// -----------------------------------------------------------------------------------------

/// A stream of loads, matrix instructions, barriers and stores over few registers, so that every
/// kind of dependence is frequent. Registers are fragments: accumulators 0..3, A and B
/// operands 4..9, metadata 10, 11, eight registers each.
struct StreamBuilder {
  const KernelParts& parts;
  base::RandomStream random;
  std::uint64_t index = 0;

  int pick(int bound) { return static_cast<int>(random.below(index++, static_cast<std::uint64_t>(bound))); }

  isa::WarpInstruction next(int number) {
    const int kind = pick(20);
    if (kind < 7) {
      const bool metadata = parts.context.instruction.sparse && pick(4) == 0;
      const int slot = metadata ? 10 + pick(2) : pick(10);
      isa::WarpInstruction load = load_into({8 * slot + (metadata ? 0 : 4 * pick(2)), metadata ? 1 : 4});
      load.where.row = number;  // seeds the bits
      return load;
    }
    if (kind < 17) {
      isa::WarpInstruction mma;
      mma.opcode = isa::Opcode::kMma;
      mma.a = {8 * (4 + pick(6)), parts.map.a_registers()};
      mma.b = {8 * (4 + pick(6)), parts.map.b_registers()};
      mma.c = {8 * pick(4), parts.map.accumulator_registers()};
      mma.d = pick(2) == 0 ? mma.c : isa::RegisterRange{8 * pick(4), mma.c.count};
      if (parts.context.instruction.sparse) {
        mma.metadata = {8 * (10 + pick(2)), 1};
      }
      return mma;
    }
    return kind == 17 ? barrier() : store_of({8 * pick(4), parts.map.accumulator_registers()});
  }

  isa::WarpProgram build(int length) {
    isa::WarpProgram program;
    program.registers_per_thread = kHarnessRegisters;
    program.iterations = 1 + pick(3);
    for (int i = 0; i < length; ++i) {
      program.loop.push_back(next(i));
    }
    program.loop.back().tiles_ahead = 1;
    for (int slot = 0; slot < 4; ++slot) {
      program.epilogue.push_back(store_of({8 * slot, parts.map.accumulator_registers()}));
    }
    return program;
  }
};

/// What the stores of one warp must see: every instruction done before the next begins.
std::vector<std::vector<mma::LaneRegister>> stores_in_program_order(const KernelParts& parts,
                                                                    const isa::WarpProgram& program, int warp) {
  std::vector<mma::LaneRegister> file(kHarnessRegisters, mma::LaneRegister{});
  std::vector<std::vector<mma::LaneRegister>> stores;
  const auto at = [&](const isa::RegisterRange& range) { return &file[static_cast<std::size_t>(range.base)]; };
  for (isa::WarpCursor cursor(program); !cursor.done(); cursor.advance()) {
    const isa::WarpInstruction& instruction = cursor.instruction();
    if (instruction.opcode == isa::Opcode::kLoadMatrix) {
      for (int reg = 0; reg < instruction.d.count; ++reg) {
        for (int lane = 0; lane < mma::kWarpLanes; ++lane) {
          at(instruction.d)[reg][static_cast<std::size_t>(lane)] =
              RecordingMemory::word(0, warp, instruction.where.row, reg, lane);
        }
      }
    } else if (instruction.opcode == isa::Opcode::kMma) {
      mma::OperandWords words;
      std::memset(&words, 0, sizeof(words));
      parts.map.gather({at(instruction.a), at(instruction.b), at(instruction.c),
                        instruction.metadata.count > 0 ? at(instruction.metadata) : nullptr, instruction.selector},
                       words);
      const base::Matrix<numerics::Word> d = mma::run_stages(parts.context, words);
      mma::RoundedResults results;
      for (std::size_t i = 0; i < mma::kRows; ++i) {
        for (std::size_t j = 0; j < mma::kCols; ++j) {
          results.word[i][j] = d(i, j);
        }
      }
      parts.map.scatter(results, at(instruction.d));
    } else if (instruction.opcode == isa::Opcode::kStoreAccumulator) {
      stores.emplace_back(at(instruction.c), at(instruction.c) + instruction.c.count);
    }
  }
  return stores;
}

void expect_stream_keeps_program_order(SmHarness& harness, const mma::MmaInstruction& instruction,
                                       std::uint64_t number) {
  const KernelParts parts(instruction);
  const isa::WarpProgram program = StreamBuilder{parts, base::RandomStream(17).fork(std::to_string(number))}.build(40);
  const int warps = 1 + static_cast<int>(number % 4);
  RecordingMemory memory(harness);
  const gpu::GridRun with_values = harness.run(parts.launch(program, &memory, warps));
  const auto issued = harness.issued();
  const gpu::GridRun without = harness.run(parts.launch(program, nullptr, warps));
  ASSERT_EQ(with_values.cycles, without.cycles) << number;
  ASSERT_EQ(issued.size(), harness.issued().size());
  for (std::size_t i = 0; i < issued.size(); ++i) {
    ASSERT_EQ(issued[i].cycle, harness.issued()[i].cycle) << number << " mma " << i;
    ASSERT_EQ(issued[i].warp_slot, harness.issued()[i].warp_slot) << number << " mma " << i;
  }
  for (int warp = 0; warp < warps; ++warp) {
    std::vector<std::vector<mma::LaneRegister>> seen;
    for (const auto& store : memory.stores()) {
      if (store.warp == warp) {
        seen.push_back(store.registers);
      }
    }
    ASSERT_EQ(seen, stores_in_program_order(parts, program, warp)) << number << " warp " << warp;
  }
}

TEST(RandomStreams, TakeTheSameCyclesWithValuesAndEndAsIfInstructionsRanOneByOne) {
  SmHarness harness("gpu", one_sub_partition());
  for (std::uint64_t number = 0; number < 60; ++number) {
    expect_stream_keeps_program_order(harness, instruction(DataType::kF16, number % 2 == 0 ? 16 : 32, number % 2 == 1),
                                      number);
  }
}

TEST(RandomStreams, EndAsIfInstructionsRanOneByOneWhereLoadsAreFastAndPortsSlow) {
  // A load of two cycles overtakes the operand fetch of the instructions before it, unless the
  // scoreboard holds it.
  gpu::GpuSpec spec = one_sub_partition();
  spec.sm.shared_memory_latency_cycles = 2;
  spec.sm.tensor_core.operand_a_port_bytes_per_cycle = 20;
  SmHarness harness("gpu", spec);
  for (std::uint64_t number = 100; number < 160; ++number) {
    expect_stream_keeps_program_order(harness, instruction(DataType::kF16, number % 2 == 0 ? 16 : 32, number % 2 == 1),
                                      number);
  }
}

}  // namespace
}  // namespace sptc::timing
