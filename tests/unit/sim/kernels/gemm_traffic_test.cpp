// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/gemm_traffic.h"

#include "sim/config/architecture.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace sptc::kernels {
namespace {

TEST(GemmTraffic, KnowsARangeHoweverManyCtasWereAskedForBefore) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const GemmKernel kernel = choose_kernel(problem(5000, 4900, 300, true), {}, gpu.kernel_target(), false);
    ASSERT_GT(kernel.ctas(), 600);
    const GemmTraffic traffic(kernel);
    isa::WarpInstruction instruction;
    for (std::int64_t i = 0; i < 4 * kernel.ctas(); ++i) {
      // In long strides, so that CTAs come again and others between them.
      const std::int64_t cta = i * 256 % kernel.ctas();
      instruction.opcode = i % 5 == 0 ? isa::Opcode::kStoreGlobal : isa::Opcode::kCopy;
      instruction.operand = i % 2 == 0 ? isa::Operand::kA : isa::Operand::kB;
      instruction.first_warp_only = kernel.persistent();
      const std::int64_t tile = i % kernel.k_tiles();
      const sm::MemoryRange expected = GemmTraffic(kernel).range(cta, 1, instruction, tile);
      const sm::MemoryRange range = traffic.range(cta, 1, instruction, tile);
      ASSERT_EQ(range.address, expected.address) << name << " " << i;
      ASSERT_EQ(range.bytes, expected.bytes) << name << " " << i;
      ASSERT_EQ(range.readers, expected.readers) << name << " " << i;
    }
  }
}

TEST(GemmTraffic, CopiesEveryByteOfAPanelOnceEdgesAsShortAsTheyAre) {
  const GemmKernel kernel = kernel_for(problem(300, 200, 100));
  const GemmTraffic traffic(kernel);
  isa::WarpInstruction copy;
  copy.opcode = isa::Opcode::kCopy;
  std::int64_t bytes_of_a = 0, bytes_of_b = 0;
  for (std::int64_t cta = 0; cta < kernel.ctas(); ++cta) {
    const CtaTile at = kernel.rasterise(cta);
    for (int warp = 0; warp < kernel.warps(); ++warp) {
      for (std::int64_t tile = 0; tile < kernel.k_tiles(); ++tile) {
        copy.operand = isa::Operand::kA;
        bytes_of_a += at.tile_n == 0 ? traffic.range(cta, warp, copy, tile).bytes : 0;
        copy.operand = isa::Operand::kB;
        bytes_of_b += at.tile_m == 0 ? traffic.range(cta, warp, copy, tile).bytes : 0;
      }
    }
  }
  EXPECT_EQ(bytes_of_a, 300 * 100 * 2);
  EXPECT_EQ(bytes_of_b, 200 * 100 * 2);
}

TEST(GemmTraffic, WindowsThatOverlapAreReadFromTheSameAddresses) {
  GemmProblem convolution = problem(128, 12544, 1152);
  convolution.distinct_b = 1.0 / 9;
  const GemmKernel kernel = kernel_for(convolution);
  const GemmTraffic traffic(kernel);
  isa::WarpInstruction copy;
  copy.opcode = isa::Opcode::kCopy;
  copy.operand = isa::Operand::kB;
  std::set<std::uint64_t> sectors;
  for (std::int64_t cta = 0; cta < kernel.ctas(); ++cta) {
    for (int warp = 0; warp < kernel.warps(); ++warp) {
      for (std::int64_t tile = 0; tile < kernel.k_tiles(); ++tile) {
        const sm::MemoryRange range = traffic.range(cta, warp, copy, tile);
        EXPECT_EQ(range.address % 32, 0U);
        for (std::int64_t at = 0; at < range.bytes; at += 32) {
          sectors.insert((range.address + static_cast<std::uint64_t>(at)) / 32);
        }
      }
    }
  }
  const double distinct = 12544.0 * 1152 * 2 / 9;
  EXPECT_NEAR(32.0 * static_cast<double>(sectors.size()), distinct, 0.01 * distinct);
}

}  // namespace
}  // namespace sptc::kernels
