// SPDX-License-Identifier: Apache-2.0
// What makes kernels of warpgroups wait, mechanism by mechanism: the direction in which each moves
// the time of a launch, in SystemC and in closed form.
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sptc::gpu {
namespace {

using numerics::DataType;

/// A few SMs of an H100: enough for clusters, and quick.
GpuSpec h100() {
  GpuSpec gpu = config::load_architecture("h100-sxm5-80gb").gpu;
  gpu.sms = 8;
  return gpu;
}

kernels::GemmProblem problem(const base::GemmShape& shape, bool sparse, DataType type = DataType::kBf16) {
  kernels::GemmProblem result{shape, 1, type, sparse};
  result.conditions.l2 = {kernels::L2State::Kind::kWarm, 1};
  return result;
}

kernels::KernelOverrides kernel(const base::GemmShape& tile, int cluster) {
  kernels::KernelOverrides result;
  result.search = true;
  result.cta_tile = tile;
  result.warp_tile = {16, tile.n, 0};
  result.family = mma::MmaFamily::kWgmma;
  result.split_k = 1;
  result.cluster_ctas = cluster;
  return result;
}

/// Cycles in SystemC, then in closed form.
std::vector<std::int64_t> cycles(const GpuSpec& gpu, const kernels::GemmProblem& what,
                                 const kernels::KernelOverrides& with) {
  std::vector<std::int64_t> result = support::in_child<std::int64_t>(
      1, [&] { return std::vector{GemmSimulator(gpu, {false}).run(what, with, nullptr).cycles}; });
  result.push_back(analytic_gemm(what, with, gpu, ClockPolicy()).cycles);
  return result;
}

TEST(WarpgroupKernels, BoxesThatTheEdgeCutsTakeLonger) {
  const kernels::GemmProblem few_columns = problem({512, 64, 2048}, true);
  GpuSpec freely = h100();
  freely.sm.bulk_edge_elements_per_cycle = 0;
  const auto alone = kernel({128, 256, 64}, 1), in_clusters = kernel({128, 256, 64}, 4);
  const auto cut = cycles(h100(), few_columns, alone), none = cycles(freely, few_columns, alone);
  const auto whole = cycles(h100(), problem({512, 256, 2048}, true), alone);
  const auto parts = cycles(h100(), few_columns, in_clusters);
  const auto parts_freely = cycles(freely, few_columns, in_clusters);
  for (std::size_t form = 0; form < cut.size(); ++form) {
    EXPECT_GT(cut[form], 1.2 * static_cast<double>(none[form])) << form;
    EXPECT_GT(cut[form], whole[form]) << form << ": more columns take less time";
    EXPECT_EQ(parts[form], parts_freely[form]) << form << ": no box of a cluster is cut";
  }
}

TEST(WarpgroupKernels, WhatTmaWritesTakesTheBanksOfMainLoopsThatReadMoreThanTheyMultiply) {
  GpuSpec freely = h100();
  freely.sm.bulk_fill_bytes_per_cycle = 0;
  const auto with = kernel({128, 256, 64}, 4);
  const auto sparse = cycles(h100(), problem({1024, 512, 4096}, true), with);
  const auto sparse_freely = cycles(freely, problem({1024, 512, 4096}, true), with);
  for (std::size_t form = 0; form < sparse.size(); ++form) {
    EXPECT_GT(sparse[form], 1.05 * static_cast<double>(sparse_freely[form])) << form;
  }
}

TEST(WarpgroupKernels, OneWarpgroupExecutesSparseInstructionsOneByOne) {
  // As many k-tiles of a tile of 64 rows and of one of 128, whose two warpgroups hide what each
  // waits for: twice the work takes less than twice the time.
  const auto lone = cycles(h100(), problem({512, 256, 8192}, true), kernel({64, 256, 64}, 4));
  const auto two = cycles(h100(), problem({1024, 256, 8192}, true), kernel({128, 256, 64}, 4));
  for (std::size_t form = 0; form < lone.size(); ++form) {
    EXPECT_LT(two[form], 1.8 * static_cast<double>(lone[form])) << form;
  }
}

TEST(WarpgroupKernels, SparseOnesTakeLongerToTheirFirstCopy) {
  GpuSpec as_dense = h100();
  as_dense.launch.sparse_launch_us = 0;
  const auto us = [](const GpuSpec& gpu, bool sparse) {
    return analytic_gemm(problem({512, 256, 1024}, sparse), {}, gpu, ClockPolicy()).launch_us;
  };
  EXPECT_GT(us(h100(), true), us(as_dense, true));
  EXPECT_EQ(us(h100(), false), us(as_dense, false));
}

}  // namespace
}  // namespace sptc::gpu
