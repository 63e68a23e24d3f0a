// SPDX-License-Identifier: Apache-2.0
//
// Is the kernel that is simulated for the kit's own GEMMs the one that the GPU runs?
#include "sim/check/capture/gemm_simulation.h"

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_choice.h"
#include "tests/hardware/cuda/gemm_tile.h"

#include <gtest/gtest.h>

namespace sptc::check::capture {
namespace {

template <bool kSparse>
void require_same(const char* gpu, numerics::DataType type) {
  SCOPED_TRACE(gpu);
  using Tile = hardware::GemmTile<kSparse>;
  kernels::GemmProblem problem;
  problem.shape = {512, 512, 512};
  problem.dtype = type;
  problem.sparse = kSparse;
  const gpu::GpuSpec spec = config::load_architecture(gpu).gpu;
  const kernels::GemmKernel kernel =
      kernels::choose_kernel(problem, own_kernel(type, kSparse), spec.kernel_target(), false);
  EXPECT_EQ(kernel.cta_tile.m, Tile::kTileM);
  EXPECT_EQ(kernel.cta_tile.n, Tile::kTileN);
  EXPECT_EQ(kernel.cta_tile.k, Tile::kStepsPerStage * kernel.instruction.shape.k);
  EXPECT_EQ(kernel.warp_tile.m, Tile::kWarpM);
  EXPECT_EQ(kernel.warp_tile.n, Tile::kWarpN);
  EXPECT_EQ(kernel.warps(), Tile::kWarps);
  EXPECT_EQ(kernel.stages, Tile::kStages);
  EXPECT_EQ(kernel.ctas_per_sm, 2);  // __launch_bounds__(128, 2)
  EXPECT_FALSE(kernel.executed.is_asynchronous());
}

TEST(OwnKernel, IsSimulatedWithTheTilesThatTheGpuRuns) {
  for (const char* const gpu : {"a100-sxm4-80gb", "h100-sxm5-80gb"}) {
    for (const auto type : {numerics::DataType::kF16, numerics::DataType::kBf16, numerics::DataType::kS8}) {
      require_same<false>(gpu, type);
      require_same<true>(gpu, type);
    }
  }
}

}  // namespace
}  // namespace sptc::check::capture
