// SPDX-License-Identifier: Apache-2.0
// What configs/libraries/cublas-sm90.json says of cuBLASLt's and cuSPARSELt's kernels on Hopper.
#include "sim/config/architecture.h"
#include "sim/kernels/kernel_candidates.h"
#include "sim/kernels/kernel_choice.h"

#include <gtest/gtest.h>

namespace sptc::kernels {
namespace {

using numerics::DataType;

const gpu::GpuSpec& h100() {
  static const gpu::GpuSpec gpu = config::load_architecture("h100-sxm5-80gb").gpu;
  return gpu;
}

GemmKernel taken(const base::GemmShape& shape, DataType type, bool sparse, Algorithm algorithm,
                 OperandLayout layout = {}) {
  GemmProblem what{shape, 1, type, sparse};
  what.conditions.algorithm = algorithm;
  what.conditions.layout = layout;
  return choose_kernel(what, {}, h100().kernel_target(), false);
}

TEST(LibraryKernels, DefaultSparseKernelsFollowTheLayout) {
  const base::GemmShape shape{8192, 8192, 8192};
  const GemmKernel linear = taken(shape, DataType::kBf16, true, Algorithm::kHeuristic);
  EXPECT_EQ(linear.cta_tile, (base::GemmShape{64, 256, 64}));
  EXPECT_EQ(linear.cluster_ctas, 1);
  const GemmKernel columns = taken(shape, DataType::kBf16, true, Algorithm::kHeuristic, {false, true});
  EXPECT_EQ(columns.cta_tile, (base::GemmShape{128, 256, 64}));
  EXPECT_EQ(columns.cluster_ctas, 4);
}

TEST(LibraryKernels, NoSparseKernelOf16BitsHasFewColumnsInBf16) {
  for (const std::int64_t n : {16, 64, 128, 256}) {
    EXPECT_EQ(taken({8192, n, 4096}, DataType::kBf16, true, Algorithm::kBest).cta_tile.n, 256) << n;
  }
}

TEST(LibraryKernels, DenseIntegersTakeKernelsOfMmaSyncUnlessTheyAreSearched) {
  const base::GemmShape shape{8192, 8192, 8192};
  EXPECT_EQ(taken(shape, DataType::kS8, false, Algorithm::kHeuristic).executed.family, mma::MmaFamily::kMma);
  EXPECT_EQ(taken(shape, DataType::kS8, false, Algorithm::kBest).executed.family, mma::MmaFamily::kWgmma);
}

TEST(LibraryKernels, SegmentKCutsTilesThatAreFewAndALastRoundThatIsPoor) {
  struct Case {
    base::GemmShape shape;
    int parts;  ///< 0: whole tiles; -1: stream-K
  };
  // Default kernels of e4m3 with D m-major, 128 x 64 x 256; as recorded on an H100.
  for (const Case& it :
       {Case{{6144, 64, 4096}, 2}, Case{{4096, 64, 14336}, 4}, Case{{3584, 64, 3584}, 2}, Case{{6144, 128, 4096}, 0},
        Case{{6144, 256, 4096}, -1}, Case{{7168, 256, 2048}, 0}, Case{{3072, 64, 1024}, 0}}) {
    const GemmKernel kernel = taken(it.shape, DataType::kE4m3, true, Algorithm::kHeuristic, {true, false});
    EXPECT_EQ(kernel.stream_k(), it.parts != 0) << it.shape.m << " " << it.shape.n;
    EXPECT_EQ(kernel.parts_of_tile, it.parts > 0 ? it.parts : 0) << it.shape.m << " " << it.shape.n;
  }
}

}  // namespace
}  // namespace sptc::kernels
