// SPDX-License-Identifier: Apache-2.0
// A selector between shared memory and the registers: instructions, loads and GEMMs.
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

gpu::GpuSpec before_registers(gpu::GpuSpec spec) {
  spec.sm.tensor_core.selector_before_registers = 1;
  return spec;
}

/// B of mma.sp.m16n8k32 of f16, selected for 16 rows: 4096 bytes.
constexpr isa::RegisterRange kSelectedB{84, 32};
constexpr isa::RegisterRange kMetadata{116, 1};

KernelParts sparse_parts(const gpu::GpuSpec& spec) {
  return KernelParts(spec.sm.tensor_core.placed(instruction(DataType::kF16, 32, true)));
}

isa::WarpInstruction mma_on_selected_b(const KernelParts& parts, int accumulator) {
  isa::WarpInstruction mma = mma_into(parts, accumulator);
  mma.b = kSelectedB;
  mma.metadata = {};
  return mma;
}

/// Cycles between issues in the steady state of a stream of them on `spec`, that of `harness`.
double interval_of(SmHarness& harness, const gpu::GpuSpec& spec) {
  const KernelParts parts = sparse_parts(spec);
  std::vector<isa::WarpInstruction> code;
  for (int i = 0; i < 200; ++i) {
    code.push_back(mma_on_selected_b(parts, i % Registers::kAccumulators));
  }
  const isa::WarpProgram program = program_of(std::move(code));
  harness.run(parts.launch(program));
  const auto& issued = harness.issued();
  return static_cast<double>(issued[180].cycle - issued[80].cycle) / 100.0;
}

gpu::GpuSpec with_port(double bytes_per_cycle) {
  gpu::GpuSpec spec = before_registers(one_sub_partition_without_gap());
  spec.sm.tensor_core.operand_b_port_bytes_per_cycle = bytes_per_cycle;
  return spec;
}

TEST(SelectorBeforeRegisters, AnInstructionTakesThePortOfBForAllThatItsRowsSelected) {
  SmHarness narrow("narrow", with_port(128)), wide("wide", with_port(256));
  SmHarness widest("widest", with_port(4096));
  EXPECT_DOUBLE_EQ(interval_of(narrow, with_port(128)), 4096 / 128);
  EXPECT_DOUBLE_EQ(interval_of(wide, with_port(256)), 4096 / 256);
  // 4 + 32 + 4 registers without the 2 of A and 2 of B that are at hand, of two banks of two
  // registers a cycle: 18 of each.
  EXPECT_DOUBLE_EQ(interval_of(widest, with_port(4096)), 18 / 2);
}

TEST(SelectorBeforeRegisters, NoWidthOfTheSelectorAndNoMetadataHoldsAnInstruction) {
  gpu::GpuSpec spec = with_port(4096);
  spec.sm.tensor_core.selector_bytes_per_cycle = 8;
  spec.sm.tensor_core.metadata_port_bytes_per_cycle = 1;
  gpu::GpuSpec inside = spec;
  inside.sm.tensor_core.selector_before_registers = 0;
  SmHarness before("before", spec), in_the_core("in_the_core", inside);
  EXPECT_DOUBLE_EQ(interval_of(before, spec), 9);
  // In the tensor core the same width takes 16 x 16 x 8 elements of 2 bytes 8 bytes at a time.
  EXPECT_DOUBLE_EQ(interval_of(in_the_core, inside), 512);
}

/// Cycles between the issue of the first of `loads` and that of an instruction on their registers.
std::int64_t latency_of(SmHarness& harness, std::vector<isa::WarpInstruction> loads) {
  const KernelParts parts = sparse_parts(before_registers(one_sub_partition()));
  loads.insert(loads.begin(), mma_into(parts, 1));  // tells when the first of them can issue
  loads.push_back(mma_on_selected_b(parts, 0));
  const isa::WarpProgram program = program_of(std::move(loads));
  harness.run(parts.launch(program));
  return harness.issued()[1].cycle - harness.issued()[0].cycle - 1;
}

isa::WarpInstruction load_of_b(bool selected) {
  isa::WarpInstruction load = load_into({kSelectedB.base, 4}, isa::Operand::kB);
  if (selected) {
    load.d = kSelectedB;
    load.selected_from = 4;
    load.metadata = kMetadata;
  }
  return load;
}

gpu::GpuSpec with_selector(double bytes_per_cycle) {
  gpu::GpuSpec spec = before_registers(one_sub_partition());
  spec.sm.tensor_core.selector_bytes_per_cycle = bytes_per_cycle;
  return spec;
}

TEST(SelectorBeforeRegisters, ALoadEndsWhenItsWavefrontsAndTheSelectorAreThrough) {
  SmHarness wide("wide", with_selector(4096)), usual("usual", with_selector(512));
  SmHarness narrow("narrow", with_selector(128));
  // 21 cycles and two for each of four wavefronts.
  EXPECT_EQ(latency_of(narrow, {load_of_b(false)}), 21 + 8);
  EXPECT_EQ(latency_of(wide, {load_of_b(true)}), 21 + 8);
  EXPECT_EQ(latency_of(usual, {load_of_b(true)}), 21 + 4096 / 512);
  EXPECT_EQ(latency_of(narrow, {load_of_b(true)}), 21 + 4096 / 128);
}

TEST(SelectorBeforeRegisters, TheSelectorBeginsWithTheFirstWavefront) {
  SmHarness harness("gpu", with_selector(128));
  std::vector<isa::WarpInstruction> loads;
  for (int i = 0; i < 5; ++i) {
    loads.push_back(load_into({120 + 4 * i, 4}, isa::Operand::kB));
  }
  loads.push_back(load_of_b(true));
  // Five loads of four wavefronts each come first.
  EXPECT_EQ(latency_of(harness, loads), 5 * 8 + 21 + 4096 / 128);
}

TEST(SelectorBeforeRegisters, ALoadWaitsForItsMetadata) {
  SmHarness harness("gpu", with_selector(512));
  const isa::WarpInstruction metadata = load_into(kMetadata, isa::Operand::kMetadata);
  EXPECT_EQ(latency_of(harness, {metadata, load_of_b(true)}), (21 + 2) + (21 + 8));
}

TEST(SelectorBeforeRegisters, EverySubPartitionHasItsOwn) {
  gpu::GpuSpec spec = before_registers(support::gpu_with_sms("a100-sxm4-80gb", 1));
  spec.sm.tensor_core.selector_bytes_per_cycle = 64;
  SmHarness harness("gpu", spec);
  const KernelParts parts = sparse_parts(spec);
  const isa::WarpProgram program =
      program_of(std::vector<isa::WarpInstruction>(20, load_of_b(true)));
  const auto cycles = [&](int warps) {
    return static_cast<double>(harness.run(parts.launch(program, nullptr, warps)).cycles);
  };
  // Loads of one warp into the same registers wait for each other: 21 cycles beside the selector's.
  EXPECT_NEAR(cycles(1), 20 * (21 + 64), 60);
  EXPECT_NEAR(cycles(4), cycles(1), 40);
  EXPECT_NEAR(cycles(8), 2 * 20 * 64, 60);
}

// --- GEMMs

gpu::GpuSpec three_sms() {
  return support::gpu_with_sms("a100-sxm4-80gb", 3);
}

kernels::KernelOverrides searched() {
  kernels::KernelOverrides overrides;
  overrides.search = true;
  return overrides;
}

/// Cycles of SystemC for each of `problems`, on `spec`.
std::vector<std::int64_t> simulated(const gpu::GpuSpec& spec,
                                    const std::vector<kernels::GemmProblem>& problems) {
  return support::in_child<std::int64_t>(problems.size(), [&] {
    gpu::GemmSimulator simulator(spec, {false});
    std::vector<std::int64_t> cycles;
    for (const kernels::GemmProblem& problem : problems) {
      cycles.push_back(simulator.run(problem, searched(), nullptr).cycles);
    }
    return cycles;
  });
}

TEST(SelectorBeforeRegisters, SlowsSparseGemmsAndLeavesDenseOnesAsTheyAre) {
  std::vector<kernels::GemmProblem> problems;
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      problems.push_back({{384, 256, 512}, 1, type, sparse});
    }
  }
  const std::vector<std::int64_t> usual = simulated(three_sms(), problems);
  const std::vector<std::int64_t> before = simulated(before_registers(three_sms()), problems);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].sparse) {
      EXPECT_GT(before[i], usual[i]) << numerics::name(problems[i].dtype);
    } else {
      EXPECT_EQ(before[i], usual[i]) << numerics::name(problems[i].dtype);
    }
  }
}

TEST(SelectorBeforeRegisters, ClosedFormFollowsTheSimulation) {
  const std::vector<kernels::GemmProblem> problems{{{768, 512, 1024}, 1, DataType::kF16, true},
                                                   {{384, 384, 2048}, 1, DataType::kF16, true},
                                                   {{512, 768, 2048}, 1, DataType::kS8, true}};
  // The port of B is the limit, then the selector. Where both are wide shared memory is, and few
  // warps hide the waits of loads for metadata, which the closed form does not know.
  for (const auto& [port, selector] :
       {std::pair{128.0, 512.0}, {128.0, 64.0}, {1024.0, 128.0}, {1024.0, 64.0}}) {
    gpu::GpuSpec spec = before_registers(three_sms());
    spec.sm.tensor_core.operand_b_port_bytes_per_cycle = port;
    spec.sm.tensor_core.selector_bytes_per_cycle = selector;
    const std::vector<std::int64_t> cycles = simulated(spec, problems);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::int64_t form = gpu::analytic_gemm(problems[i], searched(), spec, {}).cycles;
      EXPECT_NEAR(static_cast<double>(form) / static_cast<double>(cycles[i]), 1, 0.05)
          << port << " " << selector << " " << problems[i].shape.m << ": " << form << " "
          << cycles[i];
    }
  }
}

}  // namespace
}  // namespace sptc::timing
