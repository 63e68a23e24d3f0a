// SPDX-License-Identifier: Apache-2.0
// Among which kernels of the library the choice is made.
#include "sim/kernels/kernel_candidates.h"

#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

/// Rows and columns of an output tile, of both CTAs where a pair has one.
using Tiles = std::vector<std::pair<std::int64_t, std::int64_t>>;

Tiles fitting(const GemmProblem& what, const gpu::GpuSpec& gpu) {
  std::string reason;
  Tiles tiles;
  for (const GemmKernel& kernel : fitting_kernels(what, {}, gpu.kernel_target(), false, reason)) {
    tiles.emplace_back(kernel.cta_tile.m * kernel.cta_group, kernel.cta_tile.n);
  }
  EXPECT_EQ(reason, "");
  return tiles;
}

// cublas-sm80 has all of 64, 128 and 256 by 64, 128 and 256 but 256 x 256.
TEST(FittingKernels, AreLessThanTwiceAsHighAndWideAsTheTileThatCoversTheGemm) {
  const auto on_a100 = [](std::int64_t m, std::int64_t n) { return fitting(problem(m, n, 1024), a100()); };
  EXPECT_EQ(on_a100(64, 64), (Tiles{{64, 64}}));
  EXPECT_EQ(on_a100(65, 64), (Tiles{{128, 64}, {64, 64}}));
  EXPECT_EQ(on_a100(64, 65), (Tiles{{64, 128}, {64, 64}}));
  EXPECT_EQ(on_a100(4096, 16), (Tiles{{256, 64}, {128, 64}, {64, 64}}));
  EXPECT_EQ(on_a100(128, 128), (Tiles{{128, 128}, {128, 64}, {64, 128}, {64, 64}}));
  EXPECT_EQ(on_a100(4096, 4096),
            (Tiles{{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}}));
}

// cublas-a40 has 96, 128, 160 and 192 columns, among others: 96 cover 96, and 128 cover 97.
TEST(FittingKernels, AreJudgedByTheTilesThatTheLibraryHas) {
  const gpu::GpuSpec a40 = config::load_architecture("a40").gpu;
  const auto widest = [&](std::int64_t columns) {
    std::int64_t most = 0;
    for (const auto& [rows, width] : fitting(problem(12288, columns, 2048), a40)) {
      most = std::max(most, width);
    }
    return most;
  };
  EXPECT_EQ(widest(64), 96);
  EXPECT_EQ(widest(96), 160);
  EXPECT_EQ(widest(97), 192);
  EXPECT_EQ(widest(129), 256);
}

TEST(FittingKernels, OfAPairOfCtasHaveTheRowsOfBoth) {
  const gpu::GpuSpec b200 = config::load_architecture("b200").gpu;
  EXPECT_EQ(fitting(problem(128, 16, 1024), b200), (Tiles{{128, 16}}));
  EXPECT_EQ(fitting(problem(129, 17, 1024), b200), (Tiles{{256, 32}, {128, 32}, {128, 16}}));
}

// 2, 3, 4, 5, 6, 8, 10, 12 and 16 slices, of 256 k each at least.
TEST(SlicesOfK, AreThoseThatAreWorthACtaEach) {
  const auto slices = [](std::int64_t k, int most = 16, const KernelOverrides& overrides = {}, bool values = false) {
    const GemmKernel kernel = kernel_for(problem(256, 256, k), {base::GemmShape{64, 64, 32}, {}, {}});
    return slices_of_k(kernel, overrides, most, values);
  };
  using Slices = std::vector<int>;
  EXPECT_EQ(slices(511), (Slices{1}));
  EXPECT_EQ(slices(512), (Slices{1, 2}));
  EXPECT_EQ(slices(2600), (Slices{1, 2, 3, 4, 5, 6, 8, 10}));
  EXPECT_EQ(slices(2600, 5), (Slices{1, 2, 3, 4, 5}));
  EXPECT_EQ(slices(4096), (Slices{1, 2, 3, 4, 5, 6, 8, 10, 12, 16}));
  EXPECT_EQ(slices(1 << 20), slices(4096));
  EXPECT_EQ(slices(4096, 16, {}, true), (Slices{1})) << "values";
  EXPECT_EQ(slices(4096, 16, {{}, {}, {}, Decomposition::kStreamK}), (Slices{1}));
  // Those that are asked for: of 16 k-tiles of 32.
  EXPECT_EQ(slices(512, 1, {{}, {}, 16}), (Slices{16}));
  EXPECT_EQ(slices(512, 1, {{}, {}, 17}), Slices());
}

TEST(SlicesOfK, HaveAKTileEach) {
  GemmKernel kernel = kernel_for(problem(256, 256, 1024), {base::GemmShape{64, 64, 32}, {}, {}});
  kernel.cta_tile.k = 512;
  EXPECT_EQ(slices_of_k(kernel, {}, 16, false), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace sptc::kernels
