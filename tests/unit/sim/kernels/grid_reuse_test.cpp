// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/grid_reuse.h"

#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/traffic_counts.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

namespace sptc::kernels {
namespace {

GemmKernel kernel_of(const GemmProblem& problem) {
  return choose_kernel(problem, {{{128, 128, 32}}, 3, 1}, a100().kernel_target(), false);
}

/// A 3 x 3 convolution of 64 channels on 56 x 56 pixels, batch 8.
GemmProblem convolution(double distinct_b) {
  GemmProblem problem{{64, std::int64_t{8} * 56 * 56, 9 * 64}, 1, numerics::DataType::kF16, false};
  problem.distinct_b = distinct_b;
  return problem;
}

double dram_bytes(const GemmProblem& problem) {
  const GemmKernel kernel = kernel_of(problem);
  return dram_bytes(kernel, a100().memory, a100().sms).delivered;
}

TEST(GridReuse, WindowsThatOverlapAreFetchedOnce) {
  // Each column of tiles of B is used by one CTA: DRAM delivers B once, or its ninth; A comes from
  // the L2 but for the first time. Two partitions fetch what the other one has from there.
  const GemmProblem apart = convolution(1);
  const double b = 2.0 * 9 * 64 * 8 * 56 * 56;
  const double a = 2.0 * 9 * 64 * 128;
  EXPECT_NEAR(dram_bytes(apart), b, 2 * a);
  EXPECT_NEAR(dram_bytes(convolution(1.0 / 9)), b / 9, 2 * a);
}

TEST(GridReuse, AShorterGridHasAsMuchLessL2AsItUsesLess) {
  const auto share = [](const base::GemmShape& shape, double part) {
    const GemmKernel kernel = kernel_of({shape, 1, numerics::DataType::kF16, false});
    return GridReuse(kernel, a100().memory, a100().sms).l2_share_of(part);
  };
  EXPECT_EQ(share({4096, 4096, 4096}, 1), 1);
  EXPECT_EQ(share({512, 512, 4096}, 0.25), 1);  // one wave, from which nothing is kept
  // What is stored is not shorter.
  EXPECT_GT(share({4096, 4096, 1024}, 0.5), 0.5);
  EXPECT_LT(share({4096, 4096, 1024}, 0.5), 0.7);
  // A wave of 1 / 16 of K uses twice its L2 where nothing of the whole wave survives.
  const double all = share({4096, 4096, 32768}, 1.0 / 16);
  EXPECT_GT(all, 1.0 / 16);
  EXPECT_DOUBLE_EQ(all, share({4096, 4096, 65536}, 1.0 / 32));
}

TEST(GridReuse, SlicesBehindTheEndOfKFetchNothing) {
  // 89 k-tiles in 16 slices of 6: the last slice but one has 5 and the last one none.
  const GemmProblem problem{{31, 11, 5640}, 1, numerics::DataType::kF16, false};
  const GemmKernel kernel = choose_kernel(problem, {{{32, 32, 64}}, 3, 16}, a100().kernel_target(), false);
  EXPECT_EQ(dram_bytes(kernel, a100().memory, a100().sms).delivered, (31 + 11) * 2 * 5640);
}

TEST(GridReuse, RowsOfAGroupOfCtasBehindTheEdgeFetchNothing) {
  // Two groups of two CTAs: the third tile has 44 rows and the fourth one none.
  const gpu::GpuSpec b200 = config::load_architecture("b200").gpu;
  const GemmProblem problem{{300, 64, 512}, 1, numerics::DataType::kF16, false};
  const GemmKernel kernel = choose_kernel(problem, {{{128, 64, 64}}, {}, 1}, b200.kernel_target(), false);
  ASSERT_EQ(kernel.cta_group, 2);
  EXPECT_EQ(dram_bytes(kernel, b200.memory, b200.sms).delivered, (300 + 64) * 2 * 512);
}

TEST(ReductionBytes, WhatTheL2CannotKeepGoesThroughDram) {
  const GemmProblem small{{512, 512, 4096}, 1, numerics::DataType::kBf16, false};
  const GemmProblem large{{4096, 4096, 4096}, 1, numerics::DataType::kBf16, false};
  const auto kernel = [](const GemmProblem& problem, int slices) {
    return choose_kernel(problem, {{{128, 128, 32}}, 3, slices}, a100().kernel_target(), false);
  };
  const memory::MemorySpec& memory = a100().memory;
  EXPECT_EQ(reduction_bytes(kernel(large, 1), memory).partial_sums, 0);
  const ReductionBytes kept = reduction_bytes(kernel(small, 4), memory);
  EXPECT_EQ(kept.partial_sums, 4 * 4 * 512 * 512);
  EXPECT_EQ(kept.stored, 2 * 512 * 512);
  const memory::MemoryBytes moved = kept.moved();
  EXPECT_EQ(moved.l2_read, kept.partial_sums);
  EXPECT_EQ(moved.l2_written, kept.stored);
  EXPECT_EQ(moved.dram_written, kept.stored);
  EXPECT_EQ(kept.spilled, 0);
  const ReductionBytes lost = reduction_bytes(kernel(large, 16), memory);
  EXPECT_EQ(lost.partial_sums, std::int64_t{16} * 4 * 4096 * 4096);
  EXPECT_EQ(lost.spilled, lost.partial_sums - memory.l2_capacity.count());
  // DRAM takes them behind the main loop and delivers them to the second kernel.
  const double us = static_cast<double>(lost.spilled) /
                    (memory.dram_bytes_per_cycle(a100().boost_clock_mhz) * a100().boost_clock_mhz);
  const KernelEstimate form = estimate(kernel(large, 16), a100().kernel_target());
  EXPECT_DOUBLE_EQ(form.reduction_us(), us);
  EXPECT_GT(form.dram_us, us);
  EXPECT_LT(estimate(kernel(small, 4), a100().kernel_target()).reduction_us(),
            static_cast<double>(kept.partial_sums) / 1e6);  // faster than a TB/s
}

}  // namespace
}  // namespace sptc::kernels
