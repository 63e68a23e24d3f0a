// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/operand_storage.h"

#include "sim/gpu/analytic_gemm.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/kernels/warp_program.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/fragment_bytes.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::kernels {
namespace {

using numerics::DataType;

GemmProblem quantised(std::int64_t m, std::int64_t n, std::int64_t k, DataType weight, bool sparse = false,
                      int block = 128) {
  GemmProblem result = problem(m, n, k, sparse);
  result.storage = {weight, block};
  return result;
}

GemmKernel timed_kernel(const GemmProblem& what) {
  return choose_kernel(what, {}, a100().kernel_target(), false);
}

TEST(OperandStorage, CountsTheBitsOfScales) {
  const OperandStorage weight{DataType::kS4, 64};
  EXPECT_EQ(weight.a_bits(16), 4);
  EXPECT_EQ(weight.scale_bits(true, 128), 2 * 16);
  EXPECT_EQ(weight.scale_bits(false, 128), 0);
  const OperandStorage blocks{std::nullopt, 16};
  EXPECT_TRUE(blocks.block_scaled());
  EXPECT_EQ(blocks.a_bits(4), 4);
  EXPECT_EQ(blocks.scale_bits(true, 64), 4 * 8);
  EXPECT_EQ(blocks.scale_bits(false, 64), 4 * 8);
  EXPECT_EQ(OperandStorage{}.scale_bits(true, 64), 0);
}

TEST(OperandStorage, SaysWhatIsImpossible) {
  EXPECT_STREQ(impossible_storage({DataType::kS4, 0}, DataType::kBf16), "");
  EXPECT_STRNE(impossible_storage({DataType::kS4, 0}, DataType::kS8), "");
  EXPECT_STREQ(impossible_storage({std::nullopt, 32}, DataType::kE4m3), "");
  EXPECT_STRNE(impossible_storage({std::nullopt, 16}, DataType::kE4m3), "");
  EXPECT_STREQ(impossible_storage({std::nullopt, 16}, DataType::kE2m1), "");
  EXPECT_STRNE(impossible_storage({}, DataType::kE2m1), "");
  EXPECT_STREQ(impossible_storage({}, DataType::kF16), "");
}

TEST(QuantisedWeights, LieInMemoryInTheirOwnBits) {
  const std::int64_t m = 4096, n = 16, k = 4096;
  const auto a_bytes = [&](const GemmProblem& what) {
    return what.shape.m * GemmBytes(timed_kernel(what)).row_bytes(isa::Operand::kA, k);
  };
  EXPECT_EQ(a_bytes(problem(m, n, k)), m * k * 2);
  EXPECT_EQ(a_bytes(quantised(m, n, k, DataType::kS8)), m * (k + k / 128 * 2));
  EXPECT_EQ(a_bytes(quantised(m, n, k, DataType::kS4)), m * (k / 2 + k / 128 * 2));
  EXPECT_EQ(a_bytes(quantised(m, n, k, DataType::kS4, false, 0)), m * k / 2);
  EXPECT_EQ(a_bytes(quantised(m, n, k, DataType::kS4, true)), m * (k / 4 + k / 128 * 2));
}

TEST(QuantisedWeights, TheirFragmentsAreLoadedAsStoredAndDequantised) {
  for (const bool sparse : {false, true}) {
    const GemmKernel kernel = timed_kernel(quantised(4096, 16, 4096, DataType::kS4, sparse));
    EXPECT_EQ(kernel.loaded_a_registers(), 1);
    EXPECT_DOUBLE_EQ(kernel.dequantise_slots(), 8 * (9.0 / 8 + 0.5));
    const isa::WarpProgram program = gemm_warp_program(kernel, kernel.k_tiles());
    int loads = 0;
    for (const isa::WarpInstruction& instruction : program.loop) {
      if (instruction.opcode == isa::Opcode::kLoadMatrix && instruction.operand == isa::Operand::kA) {
        EXPECT_EQ(instruction.issue_slots, 1 + 13);
        EXPECT_EQ(instruction.d.count, 1);
        ++loads;
      }
    }
    EXPECT_EQ(loads, kernel.fragments_m() * kernel.k_steps_per_tile());
    EXPECT_EQ(support::fragment_bytes(kernel, program), fragment_bytes(kernel));
  }
}

TEST(BlockScaled, OnlyBlackwellMultipliesThem) {
  const gpu::GpuSpec b200 = config::load_architecture("b200").gpu;
  GemmProblem mx = problem(8192, 8192, 8192, false, DataType::kE4m3);
  const auto plain = static_cast<double>(gpu::analytic_gemm(mx, {}, b200, {}).cycles);
  mx.storage.scale_block = 32;
  const gpu::GemmRun run = gpu::analytic_gemm(mx, {}, b200, {});
  EXPECT_NE(run.kernel.instruction.ptx_name().find("kind::mxf8f6f4.block_scale"), std::string::npos);
  EXPECT_GT(static_cast<double>(run.cycles), plain);  // the scales
  EXPECT_LT(static_cast<double>(run.cycles), 1.1 * plain);
  GemmProblem nv = problem(8192, 8192, 8192, false, DataType::kE2m1);
  nv.storage.scale_block = 16;
  const gpu::GemmRun four_bits = gpu::analytic_gemm(nv, {}, b200, {});
  EXPECT_NE(four_bits.kernel.instruction.ptx_name().find("kind::mxf4nvf4.block_scale"), std::string::npos);
  EXPECT_LT(static_cast<double>(four_bits.cycles), 0.7 * plain);
  support::expect_input_error([&] { gpu::analytic_gemm(mx, {}, a100(), {}); }, {"multiplies no blocks with scales"});
}

TEST(FourBitIntegers, RunAtTwiceTheRateOfBytesWhereTheGpuHasThem) {
  const auto cycles = [](DataType type, bool sparse, const gpu::GpuSpec& gpu) {
    return static_cast<double>(gpu::analytic_gemm(problem(8192, 8192, 8192, sparse, type), {}, gpu, {}).cycles);
  };
  for (const char* name : {"a100-sxm4-80gb", "l40s", "t4"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const double gain = cycles(DataType::kS8, false, gpu) / cycles(DataType::kS4, false, gpu);
    EXPECT_GT(gain, 1.5) << name;
    EXPECT_LT(gain, 2.1) << name;
  }
  EXPECT_LT(cycles(DataType::kS4, true, a100()), cycles(DataType::kS4, false, a100()));
  const gpu::GpuSpec h100 = config::load_architecture("h100-sxm5-80gb").gpu;
  support::expect_input_error([&] { cycles(DataType::kS4, false, h100); }, {"multiplies no 4-bit integers"});
}

}  // namespace
}  // namespace sptc::kernels
