// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose tile is asked for.
#include "sim/kernels/kernel_choice.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

using numerics::DataType;

TEST(ForcedTile, HasTheWarpTileThatReadsLeastFromSharedMemory) {
  const auto warp_tile = [](std::int64_t m, std::int64_t n) {
    const base::GemmShape tile = kernel_for(problem(512, 512, 512), {base::GemmShape{m, n, 32}, 2, {}}).warp_tile;
    return std::pair(tile.m, tile.n);
  };
  EXPECT_EQ(warp_tile(64, 64), std::pair(std::int64_t{32}, std::int64_t{32}));
  EXPECT_EQ(warp_tile(64, 32), std::pair(std::int64_t{32}, std::int64_t{16}));
  EXPECT_EQ(warp_tile(32, 32), std::pair(std::int64_t{16}, std::int64_t{16}));
  EXPECT_EQ(warp_tile(128, 128), std::pair(std::int64_t{64}, std::int64_t{64}));
}

TEST(ForcedTile, OfAPairIsThatOfTheDenseAndOfTheSparseKernel) {
  struct Case {
    const char* gpu;
    base::GemmShape tile;
    std::int64_t dense_k, sparse_k;
    mma::MmaFamily family;
  };
  // Both kernels of a pair stage as many bytes of A. mma.sync takes another depth as well.
  for (const Case& c : {Case{"a100-sxm4-80gb", {128, 128, 32}, 32, 64, mma::MmaFamily::kMma},
                        Case{"a100-sxm4-80gb", {128, 128, 64}, 64, 64, mma::MmaFamily::kMma},
                        Case{"h100-sxm5-80gb", {128, 256, 64}, 64, 64, mma::MmaFamily::kWgmma},
                        Case{"h100-sxm5-80gb", {128, 128, 64}, 64, 64, mma::MmaFamily::kWgmma},
                        Case{"h100-sxm5-80gb", {128, 128, 128}, 64, 128, mma::MmaFamily::kWgmma},
                        Case{"h100-sxm5-80gb", {128, 96, 32}, 32, 64, mma::MmaFamily::kMma},
                        Case{"b200", {128, 256, 64}, 64, 128, mma::MmaFamily::kTcgen05},
                        Case{"b200", {128, 128, 128}, 64, 128, mma::MmaFamily::kTcgen05}}) {
    const gpu::GpuSpec gpu = config::load_architecture(c.gpu).gpu;
    KernelOverrides overrides{c.tile, {}, {}};
    overrides.tile_of_pair = true;
    for (const bool sparse : {false, true}) {
      const GemmKernel kernel = choose_kernel(problem(4096, 1024, 8192, sparse), overrides, gpu.kernel_target(), false);
      const base::GemmShape tile = kernel.problem.as_asked(kernel.cta_tile);
      EXPECT_EQ(tile, (base::GemmShape{c.tile.m, c.tile.n, sparse ? c.sparse_k : c.dense_k})) << c.gpu;
      EXPECT_EQ(kernel.executed.family, c.family) << c.gpu;
      // What was chosen is found again by its own tile.
      EXPECT_EQ(choose_kernel(problem(4096, 1024, 8192, sparse), {tile, kernel.stages, 1}, gpu.kernel_target(), false)
                    .executed,
                kernel.executed);
    }
  }
}

TEST(ForcedTile, ThatNoKernelCanHaveIsRefusedWithTheReason) {
  const auto forced = [](base::GemmShape tile, std::optional<int> stages = std::nullopt) {
    return support::input_error_of([&] { kernel_for(problem(512, 512, 512), {tile, stages, {}}); });
  };
  EXPECT_NE(forced({100, 128, 64}).find("100x128x64"), std::string::npos);
  EXPECT_FALSE(forced({128, 100, 64}).empty());
  EXPECT_FALSE(forced({128, 128, 17}).empty());
  EXPECT_FALSE(forced({0, 128, 64}).empty());
  EXPECT_FALSE(forced({128, -8, 64}).empty());
  EXPECT_NE(forced({256, 256, 512}, 4).find("shared memory"), std::string::npos);
  EXPECT_FALSE(forced({128, 128, 64}, 0).empty());
  EXPECT_FALSE(forced({128, 128, 64}, 17).empty());
}

// m8n8k4 has eight rows, and a warp's instruction 16.
TEST(ForcedTile, WithRowsThatNoWarpHasIsRefusedForThose) {
  const gpu::GpuSpec v100 = config::load_architecture("v100-sxm2-16gb").gpu;
  for (const std::int64_t rows : {8, 24}) {
    const KernelOverrides tile{base::GemmShape{rows, 24, 8}, {}, {}};
    support::expect_input_error([&] { choose_kernel(problem(512, 512, 512), tile, v100.kernel_target(), false); },
                                {"m must be a multiple of 16, n of 8"});
  }
}

}  // namespace
}  // namespace sptc::kernels
